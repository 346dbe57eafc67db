"""A disk that is really full: a small file system in memory, where the tests may mount one.

Elsewhere (not root, no mounts in the container) SQLite's own writes are refused instead, so that
the same tests run everywhere.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from support.faulty_vfs import FaultyDisk, disk_full, faulty_disk


class SmallDisk(Protocol):
    """A folder on a disk that can be filled and freed."""

    folder: Path

    def fill(self) -> None:
        """Leave no room at all."""

    def free(self) -> None:
        """Make room again."""


class _Mounted:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self) -> None:
        with self._filler.open("ab", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(4096))

    def free(self) -> None:
        self._filler.unlink()


class _Refusing:
    def __init__(self, folder: Path, disk: FaultyDisk) -> None:
        self.folder = folder
        self._disk = disk

    def fill(self) -> None:
        growing = {"write", "truncate"}
        self._disk.fault = lambda operation, _: disk_full() if operation in growing else None

    def free(self) -> None:
        self._disk.fault = None


def _mount(folder: Path) -> bool:
    if os.geteuid() != 0:
        return False
    size = "size=2m,mode=0755"
    command = ["mount", "-t", "tmpfs", "-o", size, "stagepost-test", str(folder)]
    return subprocess.run(command, capture_output=True, check=False, timeout=30).returncode == 0


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    """A disk of two megabytes."""
    folder.mkdir()
    if not _mount(folder):
        with faulty_disk() as disk:
            yield _Refusing(folder, disk)
        return
    try:
        yield _Mounted(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True, timeout=30)
