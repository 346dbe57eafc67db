"""The ledger as a file of JSON lines, so that it outlives the provider's process.

Each line is on the disk before the answer that it is about goes out. Lines of many calls share one
sync.
"""

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import orjson

_LONGEST_LINE: Final = 65_536
_MOST_WAITING: Final = 10_000


class LedgerUnreadable(Exception):
    """A ledger's file is none, or can't be opened; says why."""


class Journal:
    """Appends lines; without a file it does nothing. `begin` and `close` it in one event loop."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._descriptor = -1
        self._lines: list[bytes] = []
        self._written = 0
        self._synced = 0
        self._syncing: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Open the file to append to it. Raises LedgerUnreadable."""
        if self._file is None:
            return
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._descriptor = os.open(self._file, flags, 0o600)
            _end_line(self._descriptor)
        except OSError as error:
            raise LedgerUnreadable(f"{self._file} can't be written ({error.strerror}).") from error

    def add(self, event: str, **told: Any) -> None:
        """Append a line; it is on the disk once `synced` has returned."""
        if self._descriptor >= 0:
            self._lines.append(orjson.dumps({"event": event, **told}) + b"\n")
            self._written += 1

    async def synced(self) -> None:
        """Return once all that was added before is on the disk. Raises OSError."""
        wanted = self._written
        while self._synced < wanted:
            if self._syncing is None:
                self._syncing = asyncio.create_task(self._sync(), name="ledger to disk")
            # Somebody who is cancelled must not take the others' sync along.
            await asyncio.shield(self._syncing)

    @property
    def crowded(self) -> bool:
        """Whether so many lines wait that whoever adds more should wait for them."""
        return len(self._lines) >= _MOST_WAITING

    async def close(self) -> None:
        """Write the last lines, and close the file."""
        if self._descriptor >= 0:
            await self.synced()
            os.close(self._descriptor)
            self._descriptor = -1

    async def _sync(self) -> None:
        lines, self._lines = self._lines, []
        try:
            await asyncio.to_thread(_append, self._descriptor, b"".join(lines))
            self._synced += len(lines)
        except OSError:
            self._lines = [*lines, *self._lines]
            raise
        finally:
            self._syncing = None


def replay(file: Path | None, take: Callable[[Mapping[str, Any]], None]) -> None:
    """Give each line of a file that is there to `take`. Raises LedgerUnreadable.

    The last line may be torn, where the process died in the middle of it: nobody was told of it.
    """
    if file is None or not file.exists():
        return
    try:
        for number, (line, whole) in enumerate(_lines(file), 1):
            try:
                take(orjson.loads(line))
            except (orjson.JSONDecodeError, KeyError, TypeError) as error:
                if whole:
                    raise LedgerUnreadable(
                        f"{file}, line {number} is no line of a ledger; name another file."
                    ) from error
    except OSError as error:
        raise LedgerUnreadable(f"{file} can't be read ({error.strerror}).") from error


def _lines(file: Path) -> Iterator[tuple[bytes, bool]]:
    with file.open("rb") as opened:
        while line := opened.readline(_LONGEST_LINE):
            if line.strip():
                yield line, line.endswith(b"\n")


def _append(descriptor: int, data: bytes) -> None:
    size = os.fstat(descriptor).st_size
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    except OSError:
        # A part may be there, and all of it is written again.
        os.ftruncate(descriptor, size)
        raise


def _end_line(descriptor: int) -> None:
    """Cut a torn last line off."""
    size = os.fstat(descriptor).st_size
    start = max(0, size - _LONGEST_LINE)
    tail = os.pread(descriptor, size - start, start)
    whole = tail.rfind(b"\n") + 1
    if whole < len(tail):
        os.ftruncate(descriptor, start + whole)
