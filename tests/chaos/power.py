"""A disk that forgets what was not synced, for SQLite.

`watch` makes every connection of the process tell a file outside what it writes and when it syncs.
`lose` is the power cut after the process was killed: whatever was written to the database or its
log and not synced afterwards is overwritten with zeros, as a disk may leave it.
"""

import os
import struct
from pathlib import Path

import apsw

_RECORD = struct.Struct("<BQQ")  # file, offset, length; a length of 0 is a sync
_SUFFIXES = ("stagepost.db", "stagepost.db-wal")


def watch(log: Path) -> apsw.VFS:
    """From now on connections of this process tell `log`; keep the result."""
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    class File(apsw.VFSFile):
        def __init__(self, name: "str | apsw.URIFilename | None", flags: list[int]) -> None:
            super().__init__("unix", name, flags)
            path = name.filename() if isinstance(name, apsw.URIFilename) else name
            base = os.path.basename(path or "")  # noqa: PTH119
            self._number = _SUFFIXES.index(base) if base in _SUFFIXES else None

        def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
            # Told first: a write that was told and not done loses nothing.
            self._tell(offset, len(data))
            super().xWrite(data, offset)

        def xSync(self, flags: int) -> None:  # noqa: N802
            super().xSync(flags)
            self._tell(0, 0)

        def _tell(self, offset: int, length: int) -> None:
            if self._number is not None:
                os.write(handle, _RECORD.pack(self._number, offset, length))

    class Disk(apsw.VFS):
        def __init__(self) -> None:
            super().__init__("forgetful", "unix", makedefault=True)

        def xOpen(self, name: "str | apsw.URIFilename | None", flags: list[int]) -> File:  # noqa: N802
            return File(name, flags)

    return Disk()


def lose(log: Path, folder: Path) -> int:
    """Cut the power; answers how many bytes were lost."""
    unsynced: dict[int, list[tuple[int, int]]] = {}
    content = log.read_bytes() if log.exists() else b""
    whole = len(content) - len(content) % _RECORD.size
    for number, offset, length in _RECORD.iter_unpack(content[:whole]):
        if length:
            unsynced.setdefault(number, []).append((offset, length))
        else:
            unsynced.pop(number, None)
    log.unlink(missing_ok=True)
    return sum(_zero(folder / _SUFFIXES[n], ranges) for n, ranges in unsynced.items())


def _zero(file: Path, ranges: list[tuple[int, int]]) -> int:
    if not file.exists():
        return 0
    lost, size = 0, file.stat().st_size
    with file.open("r+b") as disk:
        for offset, length in ranges:
            length = max(0, min(length, size - offset))  # noqa: PLW2901
            disk.seek(offset)
            disk.write(b"\0" * length)
            lost += length
    return lost
