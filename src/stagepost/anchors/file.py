"""An anchor in a file, one line a seal, which is only ever appended to."""

import asyncio
import fcntl
import os
from collections.abc import Sequence
from pathlib import Path

from stagepost.errors import AnchorUnavailable, StoreRefused


class FileAnchor:
    """Every `keep` is synced to disk before it returns.

    Raises StoreRefused for a file that can't be appended to.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            _append(path, b"")
        except OSError as error:
            raise StoreRefused(
                f"The audit anchor {path} can't be written ({error.strerror}); make its folder and "
                "give this user the right to write there, or correct STAGEPOST_AUDIT_ANCHOR."
            ) from error

    async def keep(self, lines: Sequence[str]) -> None:
        """Append lines."""
        content = "".join(f"{line}\n" for line in lines).encode()
        try:
            await asyncio.to_thread(_append, self._path, content)
        except OSError as error:
            raise AnchorUnavailable(
                f"The audit anchor {self._path} can't be written ({error.strerror}); mend that, "
                "seals are kept until it can."
            ) from error

    async def close(self) -> None:
        """Nothing is open between two writes: the file may be moved away at any time."""


def _append(path: Path, content: bytes) -> None:
    is_new = not path.exists()
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        # Another process may have taken over the lead, and this one not know it yet.
        fcntl.flock(handle, fcntl.LOCK_EX)
        if content:
            _write(handle, content if _ends_well(handle) else b"\n" + content)
        os.fsync(handle)
    finally:
        os.close(handle)
    if is_new:
        _sync_folder(path.parent)


def _ends_well(handle: int) -> bool:
    """Whether the last line is whole; a crash, or a full disk, may have cut it."""
    size = os.fstat(handle).st_size
    return size == 0 or os.pread(handle, 1, size - 1) == b"\n"


def _write(handle: int, content: bytes) -> None:
    written = 0
    while written < len(content):
        written += os.write(handle, content[written:])


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
