"""A disk that keeps only what was synced: what is left after a power cut, or a kill of the process.

While a `LossyDisk` is the default, every write of SQLite's in this process stays in memory, visible
to all connections, until its file is synced. So the real files hold at any moment just what the
disk would be sure to hold; killing the process, or copying the files, is the power cut. Locks and
shared memory are the real ones. A new file's own entry and a deletion count as synced.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import apsw

_SECTOR = 512
"""What a disk writes whole or not at all."""


@dataclass
class _Image:
    """A file as the process sees it, and what of that is not on the disk yet, in order."""

    content: bytearray
    unsynced: list[tuple[int, bytes] | int] = field(default_factory=list)
    """Writes as (offset, bytes), truncations as a length."""


class LossyDisk(apsw.VFS):
    """The file system. Use it by `lossy_disk`."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.images: dict[str, _Image] = {}
        self.syncs = 0
        super().__init__("lossy", "unix", makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> "_LossyFile":  # noqa: N802
        """Open a file of SQLite's."""
        return _LossyFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802, FBT001
        """Delete a file, for good."""
        with self.lock:
            self.images.pop(filename, None)
            super().xDelete(filename, syncdir)

    def cut(self, folder: Path, into: Path, luck: Random | None = None) -> None:
        """Copy what a power cut at this moment would leave of a folder's database.

        With `luck` each sector that was not synced may have reached the disk, or not.
        """
        into.mkdir(parents=True)
        with self.lock:
            for path in folder.iterdir():
                if path.suffix not in {".db", ".db-wal", ".db-journal"}:
                    continue
                left = bytearray(path.read_bytes())
                image = self.images.get(str(path))
                if image is not None and luck is not None:
                    _spill(image, left, luck)
                (into / path.name).write_bytes(left)

    @property
    def unsynced(self) -> int:
        """Writes that a power cut would lose."""
        with self.lock:
            return sum(len(image.unsynced) for image in self.images.values())


def _spill(image: _Image, left: bytearray, luck: Random) -> None:
    for change in image.unsynced:
        if isinstance(change, int):
            continue
        offset, data = change
        for start in range(0, len(data), _SECTOR):
            if luck.random() < 0.5:
                _write(left, offset + start, data[start : start + _SECTOR])


def _write(content: bytearray, offset: int, data: bytes) -> None:
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


class _LossyFile(apsw.VFSFile):
    def __init__(self, disk: LossyDisk, name: Any, flags: list[int]) -> None:
        super().__init__("unix", name, flags)
        self._disk = disk
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        with disk.lock:
            if path is None:
                self._image = _Image(bytearray())
            elif path in disk.images:
                self._image = disk.images[path]
            else:
                self._image = _Image(bytearray(Path(path).read_bytes()))
                disk.images[path] = self._image

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        with self._disk.lock:
            return bytes(self._image.content[offset : offset + amount])

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        with self._disk.lock:
            data = bytes(data)
            _write(self._image.content, offset, data)
            self._image.unsynced.append((offset, data))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        with self._disk.lock:
            del self._image.content[newsize:]
            self._image.unsynced.append(newsize)

    def xFileSize(self) -> int:  # noqa: N802
        with self._disk.lock:
            return len(self._image.content)

    def xSync(self, flags: int) -> None:  # noqa: N802
        with self._disk.lock:
            self._disk.syncs += 1
            for change in self._image.unsynced:
                if isinstance(change, int):
                    super().xTruncate(change)
                else:
                    super().xWrite(change[1], change[0])
            self._image.unsynced.clear()


@contextmanager
def lossy_disk() -> Iterator[LossyDisk]:
    """Make the lossy disk SQLite's default in this process, for a while."""
    disk = LossyDisk()
    try:
        yield disk
    finally:
        apsw.set_default_vfs("unix")
        disk.unregister()
