"""The data folder: opened by one process, refused with one clear sentence when it can't be."""

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import apsw

from stagepost.errors import StoreRefused, StoreUnavailable
from stagepost.stores.sqlite import refusals, schema

DATABASE: Final = "stagepost.db"
BUSY_TIMEOUT: Final = 5_000
"""Milliseconds to wait for another program that holds the database."""

LOCK: Final = "lock"
_ORPHANS_LAST: Final = 5.0
# Seconds. A process that was killed may leave children that share its lock and are about to end.
_ORPHANS_POLL: Final = 0.02
HEADER: Final = b"SQLite format 3\x00"
_APPLICATION_ID: Final = slice(68, 72)  # of the file's header, big-endian
_QUICK_CHECK_UP_TO: Final = 64 * 1024 * 1024
# Bytes; a larger file takes seconds to check, and `doctor` does it.


class DataFolder:
    """A locked folder. The lock falls with the process, however it ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = path / DATABASE
        self._lock: int | None = _lock(path)

    def release(self) -> None:
        """Let another process open the folder."""
        handle, self._lock = self._lock, None
        if handle is not None:
            os.close(handle)


class Place:
    """Where the database was when it was opened. SQLite itself goes on in a file that is gone."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._found = database.stat()

    def check(self) -> None:
        """Raises StoreUnavailable when the file is not there any more, or is another one."""
        try:
            there = os.path.samestat(self._database.stat(), self._found)
        except (FileNotFoundError, NotADirectoryError):
            there = False
        if not there:
            raise StoreUnavailable(
                f"The data folder {self._database.parent} has been moved or removed; put it back, "
                "or restart."
            )


def open_writer(folder: DataFolder) -> apsw.Connection:
    """The one connection that writes: checked, migrated and set to sync every commit."""
    with _refusals(folder.database):
        _check_file(folder.database)
        connection = apsw.Connection(str(folder.database), statementcachesize=256)
        try:
            # A file that is refused must stay as it is, so nothing is moved into it on closing.
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            _tune(connection)
            _check_content(connection, folder.database)
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
            _set_up(connection, folder.database)
        except BaseException:
            connection.close()
            raise
    return connection


def open_reader(database: Path) -> apsw.Connection:
    """A connection that can't write."""
    connection = apsw.Connection(
        str(database), flags=apsw.SQLITE_OPEN_READONLY, statementcachesize=64
    )
    _tune(connection)
    return connection


def open_checkpointing(database: Path) -> apsw.Connection:
    """A connection that only moves committed pages from the log into the file."""
    connection = apsw.Connection(str(database))
    connection.set_busy_timeout(BUSY_TIMEOUT)
    connection.pragma("synchronous", "FULL")
    connection.pragma("wal_autocheckpoint", 0)
    return connection


def _tune(connection: apsw.Connection) -> None:
    connection.set_busy_timeout(BUSY_TIMEOUT)
    connection.pragma("cache_size", -32_768)
    connection.pragma("temp_store", "memory")


def _set_up(connection: apsw.Connection, database: Path) -> None:
    # Before the log is switched on, so that the file itself says from the first whose it is.
    if not database.stat().st_size:
        connection.pragma("application_id", schema.APPLICATION_ID)
    mode = connection.pragma("journal_mode", "wal")
    if mode != "wal":
        raise StoreRefused(
            f"The disk that holds {database.parent} can't keep a write-ahead log (SQLite stays in "
            f"mode {mode}); choose a folder on a local disk with --data."
        )
    connection.pragma("synchronous", "FULL")
    # The checkpointer has a thread and a connection of its own.
    connection.pragma("wal_autocheckpoint", 0)
    _keep_a_copy(connection, database)
    schema.migrate(connection)


def _lock(path: Path) -> int:
    try:
        _make(path)
        handle = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreRefused(_unwritable(path, error)) from error
    try:
        _take(handle, path)
        # Always of one length, so that a full disk has nothing to refuse after the first time.
        os.pwrite(handle, f"{os.getpid():<20}\n".encode("ascii"), 0)
    except OSError as error:
        os.close(handle)
        raise StoreRefused(_unwritable(path, error)) from error
    except BaseException:
        os.close(handle)
        raise
    return handle


def _take(handle: int, path: Path) -> None:
    give_up_at = time.monotonic() + _ORPHANS_LAST
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(handle, 64, 0).decode("ascii", "replace").strip() or "unknown"
            if _lives(holder) or time.monotonic() > give_up_at:
                raise StoreRefused(
                    f"The data folder {path} is in use by process {holder}; "
                    "stop that one or choose another folder with --data."
                ) from error
            time.sleep(_ORPHANS_POLL)
        else:
            return


def _lives(holder: str) -> bool:
    if not holder.isdigit():
        return True
    try:
        os.kill(int(holder), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _make(path: Path) -> None:
    # SQLite syncs the folder of its files; that the folder itself survives is up to us.
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    for folder in missing:
        handle = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _check_file(database: Path) -> None:
    if not database.exists():
        return
    try:
        with database.open("r+b") as file:
            header = file.read(100)
    except OSError as error:
        raise StoreRefused(_unwritable(database.parent, error)) from error
    if header and not header.startswith(HEADER):
        raise StoreRefused(_corrupt(database, "it does not start like an SQLite file"))
    if header and int.from_bytes(header[_APPLICATION_ID]) != schema.APPLICATION_ID:
        raise StoreRefused(
            f"{database} is another program's SQLite file; choose another folder with --data."
        )


def _check_content(connection: apsw.Connection, database: Path) -> None:
    version = schema.version_of(connection)
    if version > schema.VERSION:
        raise StoreRefused(
            f"The data folder {database.parent} was written by a newer Stagepost (schema "
            f"{version}, this one knows {schema.VERSION}); install that version or choose another "
            "folder with --data."
        )
    if database.stat().st_size <= _QUICK_CHECK_UP_TO:
        verdict = connection.execute("PRAGMA quick_check(1)").get
        if verdict != "ok":
            raise StoreRefused(_corrupt(database, str(verdict).replace("\n", " ")))


def _keep_a_copy(connection: apsw.Connection, database: Path) -> None:
    """Before a migration, the whole file as it was: `stagepost.db.v1` beside it."""
    version = schema.version_of(connection)
    if not 0 < version < schema.VERSION:
        return
    partial = database.with_name(f"{DATABASE}.partial")
    partial.unlink(missing_ok=True)
    try:
        copy = apsw.Connection(str(partial))
        with contextlib.closing(copy):
            with copy.backup("main", connection, "main") as backup:
                backup.step()
            # One file by itself, without a log beside it.
            copy.pragma("journal_mode", "delete")
        partial.replace(database.with_name(f"{DATABASE}.v{version}"))
    finally:
        partial.unlink(missing_ok=True)


def _unwritable(path: Path, error: OSError) -> str:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return _full(path)
    return (
        f"The data folder {path} can't be written ({error.strerror}); "
        "give this user the right to write there or choose another folder with --data."
    )


def _full(path: Path) -> str:
    return f"The disk that holds {path} is full; free some space and start again."


def _corrupt(database: Path, why: str) -> str:
    return (
        f"{database} is damaged ({why}); nothing was changed. Put a backup in its place, "
        "or move it away to start with an empty store."
    )


@contextlib.contextmanager
def _refusals(database: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreRefused(_unwritable(database.parent, error)) from error
    except apsw.Error as error:
        raise StoreRefused(_why(database, error)) from error


def _why(database: Path, error: apsw.Error) -> str:
    if refusals.is_full(error):
        return _full(database.parent)
    match error:
        case apsw.NotADBError() | apsw.CorruptError():
            return _corrupt(database, str(error))
        case apsw.BusyError() | apsw.LockedError():
            return f"{database} is held by another program; end that one and start again."
        case apsw.CantOpenError() | apsw.ReadOnlyError() | apsw.PermissionsError():
            return (
                f"{database} can't be opened for writing ({error}); give this user the right to "
                "write there or choose another folder with --data."
            )
        case _:
            return (
                f"The disk that holds {database.parent} failed ({error}); look at the system's log."
            )
