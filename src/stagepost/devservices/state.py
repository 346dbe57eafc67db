"""What is known of the services between two commands: one private JSON file, behind one lock."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from stagepost.devservices.errors import NotAnswering, Refused
from stagepost.devservices.process import Identity

# A first start installs packages, so the one behind it waits long.
LOCK_TIMEOUT = 900.0


class Entry(BaseModel):
    """One service: address and password for good, and the process of its last start.

    `process` is None once it was stopped.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    port: int
    password: str
    process: Identity | None = None


class _State(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int = 1
    services: dict[str, Entry] = {}


def load(folder: Path) -> dict[str, Entry]:
    """Every known service by name; empty before the first start.

    Raises:
        Refused: the file is not one of ours.
    """
    path = _path(folder)
    try:
        state = _State.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (ValidationError, OSError):
        raise Refused(
            f"{path} cannot be read: end the processes that live in {folder}, then remove it."
        ) from None
    if state.version != 1:
        raise Refused(f"{path} was written by a newer Stagepost: use that one.")
    return dict(state.services)


def save(folder: Path, entries: Mapping[str, Entry]) -> None:
    """Replace what is known, on disk when this returns."""
    write_private(_path(folder), _State(services=dict(entries)).model_dump_json(indent=1) + "\n")


def write_private(path: Path, text: str) -> None:
    """Replace a file of mode 0600 as a whole: a reader sees the old text or the new."""
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


@contextmanager
def locked(
    path: Path, notify: Callable[[str], None], timeout: float = LOCK_TIMEOUT
) -> Iterator[None]:
    """Hold the lock file; the kernel lets go of it when its holder dies.

    Raises:
        NotAnswering: another command held it for `timeout` seconds.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not _taken(handle):
            notify("waiting for another 'stagepost dev services' to finish ...")
            _wait_for(handle, path, timeout)
        yield
    finally:
        os.close(handle)


def _wait_for(handle: int, path: Path, timeout: float) -> None:
    last = time.monotonic() + timeout
    while not _taken(handle):
        if time.monotonic() > last:
            raise NotAnswering(f"Another command has held {path} for {timeout:.0f} s.")
        time.sleep(0.1)


def _taken(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _path(folder: Path) -> Path:
    return folder / "state.json"
