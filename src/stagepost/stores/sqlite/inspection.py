"""A look at a data folder that changes nothing in it, whether or not a server has it open."""

import fcntl
import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import apsw

from stagepost.stores.sqlite import schema
from stagepost.stores.sqlite.folder import DATABASE, HEADER, LOCK

_LONGEST_CHECK: Final = 60.0  # seconds
_STEPS: Final = 100_000  # of SQLite's machine between two looks at the clock


@dataclass(frozen=True, slots=True)
class Look:
    """What a folder holds. Sizes are bytes, instants ms since 1970.

    `holder` is the process that has it open. `damage` says what is wrong with the database;
    `unchecked`, that it was too large to be read through in a minute. `open_types` counts the tasks
    that are not over, by type.
    """

    path: Path
    exists: bool
    writable: bool
    free: int
    holder: int | None = None
    size: int = 0
    damage: str = ""
    unchecked: bool = False
    version: int | None = None
    newest: int | None = None
    open_types: Mapping[str, int] = field(default_factory=dict)


def inspect(path: Path) -> Look:
    """Look at a data folder; one that does not exist yet is judged by where it would be made."""
    ground = _nearest(path)
    writable = os.access(ground, os.W_OK | os.X_OK)
    free = shutil.disk_usage(ground).free
    database = path / DATABASE
    if not database.exists():
        return Look(path, path.exists(), writable, free, _holder(path))
    return _inside(Look(path, True, writable, free, _holder(path)), database)


def _inside(look: Look, database: Path) -> Look:
    size = sum(each.stat().st_size for each in database.parent.glob(f"{DATABASE}*"))
    try:
        with database.open("rb") as file:
            head = file.read(len(HEADER))
        if head not in {HEADER, b""}:
            return replace(look, size=size, damage="it does not start like an SQLite file")
        return _read(look, database, size)
    except OSError as error:
        return replace(look, size=size, damage=f"it can't be read ({error.strerror})")
    except apsw.Error as error:
        return replace(look, size=size, damage=str(error))


def _read(look: Look, database: Path, size: int) -> Look:
    with apsw.Connection(_address(database), flags=_FLAGS) as connection:
        connection.set_busy_timeout(5_000)
        if connection.pragma("application_id") != schema.APPLICATION_ID:
            empty = not connection.execute("SELECT count(*) FROM sqlite_schema").get
            return replace(look, size=size, damage="" if empty else "it is another program's file")
        version = schema.version_of(connection)
        if version > schema.VERSION:
            return replace(look, size=size, version=version)
        verdict = _quick_check(connection)
        if verdict not in {"ok", None}:
            return replace(look, size=size, version=version, damage=verdict)
        newest = connection.execute("SELECT max(created_at) FROM tasks").get
        types: dict[str, int] = dict(connection.execute(_OPEN_TYPES).fetchall())  # type: ignore[arg-type]
    return replace(
        look,
        size=size,
        version=version,
        unchecked=verdict is None,
        newest=newest,
        open_types=types,
    )


_OPEN_TYPES: Final = """
SELECT type, count(*) FROM tasks WHERE status NOT IN ('COMPLETED', 'CANCELLED', 'DEAD_LETTER')
GROUP BY type
"""
_FLAGS: Final = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI


def _address(database: Path) -> str:
    log = database.with_name(f"{DATABASE}-wal")
    # Without a log there is nothing beside the file that a reader would need, or have to make.
    alone = not log.exists() or log.stat().st_size == 0
    return f"{database.absolute().as_uri()}?mode=ro{'&immutable=1' if alone else ''}"


def _quick_check(connection: apsw.Connection) -> str | None:
    limit = time.monotonic() + _LONGEST_CHECK
    connection.set_progress_handler(lambda: time.monotonic() > limit, _STEPS)
    try:
        return str(connection.execute("PRAGMA quick_check(1)").get)
    except apsw.InterruptError:
        return None
    finally:
        connection.set_progress_handler(None)


def _holder(path: Path) -> int | None:
    try:
        handle = os.open(path / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.read(handle, 64).decode("ascii", "replace").strip()
        return int(text) if text.isdigit() else 0
    finally:
        os.close(handle)
    return None


def _nearest(path: Path) -> Path:
    """The folder itself, or the nearest above it that exists."""
    for folder in (path.absolute(), *path.absolute().parents):
        if folder.exists():
            return folder
    return Path("/")
