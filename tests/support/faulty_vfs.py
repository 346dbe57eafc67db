"""A disk that fails on request, at the writes, syncs and truncations of chosen files."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import apsw

Fault = Callable[[str, str], Exception | None]
"""From an operation (write, sync, truncate, open) and a file's name to the error it meets."""


def disk_full() -> Exception:
    """There is no room left."""
    return apsw.exception_for(apsw.SQLITE_FULL)


def write_failed() -> Exception:
    """The device did not take a write."""
    return apsw.exception_for(apsw.SQLITE_IOERR_WRITE)


def sync_failed() -> Exception:
    """The device did not confirm a sync."""
    return apsw.exception_for(apsw.SQLITE_IOERR_FSYNC)


class FaultyDisk(apsw.VFS):
    """The file system. Use it by `faulty_disk`."""

    def __init__(self) -> None:
        self.fault: Fault | None = None
        super().__init__("faulty", "unix", makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> "_FaultyFile":  # noqa: N802
        """Open a file of SQLite's."""
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self.meet("open", path or "")
        return _FaultyFile(self, path or "", name, flags)

    def meet(self, operation: str, path: str) -> None:
        """Raise what the operation meets, if anything."""
        error = self.fault(operation, path) if self.fault is not None else None
        if error is not None:
            raise error


class _FaultyFile(apsw.VFSFile):
    def __init__(self, disk: FaultyDisk, path: str, name: Any, flags: list[int]) -> None:
        super().__init__("unix", name, flags)
        self._disk = disk
        self._path = path

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.meet("write", self._path)
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.meet("truncate", self._path)
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.meet("sync", self._path)
        super().xSync(flags)


@contextmanager
def faulty_disk() -> Iterator[FaultyDisk]:
    """Make the faulty disk SQLite's default in this process, for a while."""
    disk = FaultyDisk()
    try:
        yield disk
    finally:
        apsw.set_default_vfs("unix")
        disk.unregister()
