"""Blobs as files: written beside their place, synced, then renamed into it."""

import asyncio
import contextlib
import hashlib
import os
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar

from stagepost.blobs import Listing, Stored
from stagepost.errors import Conflict, NotFound, StoreRefused, StoreUnavailable

Answer = TypeVar("Answer")

_THREADS: Final = 8
_PARTIAL: Final = ".partial"
_OWNER: Final = "owner"
_KEY: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class FolderBlobs:
    """One file a blob, spread over 256 folders by the end of its key.

    Raises StoreRefused, with the remedy, when the folder can't be made.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Its own: an event loop's default threads may all be busy with what handlers run in them.
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="stagepost-blobs")
        try:
            _make(folder)
        except OSError as error:
            raise StoreRefused(
                f"The folder for files {folder} can't be made ({error.strerror}); give this user "
                "the right to write there or choose another one."
            ) from error

    async def put(self, key: str, chunks: AsyncIterator[bytes], *, limit: int) -> Stored:
        """Write a blob that survives a power cut."""
        writing = _Writing(self._path(key))
        digest, size = hashlib.sha256(), 0
        try:
            await self._to_its_end(writing.begin)
            async for chunk in chunks:
                size += len(chunk)
                if size > limit:
                    raise ValueError(f"more than {limit} bytes")
                digest.update(chunk)
                await self._to_its_end(writing.add, chunk)
            await self._to_its_end(writing.seal)
        finally:
            writing.end()
        return Stored(size, digest.hexdigest())

    async def get(self, key: str) -> bytes:
        """The whole blob."""
        path = self._path(key)
        with _reading(key):
            return await self._run(path.read_bytes)

    async def stream(self, key: str, *, chunk: int = 256 * 1024) -> AsyncIterator[bytes]:
        """The blob in pieces."""
        path = self._path(key)
        with _reading(key):
            file = await self._run(lambda: path.open("rb"))
        with file:
            while piece := await self._read(key, file, chunk):
                yield piece

    async def path(self, key: str) -> Path:
        """The blob's own file."""
        path = self._path(key)
        if not await self._run(path.is_file):
            raise _gone(key)
        return path

    async def delete(self, key: str) -> None:
        """Remove a blob, and what a put that did not end has left of it."""
        target = self._path(key)
        with _disk_errors("changed"):
            for path in (target, _partial(target)):
                await self._run(partial(path.unlink, missing_ok=True))

    async def listed(self, after: str, *, older_than: float) -> Listing:
        """The old keys of one of the 256 folders, in the folders' order."""
        with _disk_errors("read"):
            return await self._run(_listed, self._folder, after, time.time() - older_than)

    async def belong_to(self, owner: str) -> bool:
        """Whether the folder's mark names this owner, after it was put there if none was."""
        with _disk_errors("changed"):
            return await self._run(_owner, self._folder, owner) == owner

    async def close(self) -> None:
        """End its threads, once they have done what they are at."""
        await asyncio.to_thread(self._threads.shutdown)

    async def _read(self, key: str, file: BinaryIO, size: int) -> bytes:
        with _reading(key):
            return await self._run(file.read, size)

    async def _to_its_end(self, call: Callable[..., Answer], *arguments: Any) -> Answer:
        """Run it, also if the caller is cancelled: nobody may close a file under a write."""
        running = asyncio.ensure_future(self._run(call, *arguments))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await asyncio.gather(running, return_exceptions=True)
            raise

    def _run(self, call: Callable[..., Answer], *arguments: Any) -> asyncio.Future[Answer]:
        return asyncio.get_running_loop().run_in_executor(self._threads, call, *arguments)

    def _path(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise NotFound("A blob's key is a UUID.")
        # The end of a UUIDv7 is random, its start is the time.
        return self._folder / key[-2:] / key


class _Writing:
    """A blob on its way to its place; its methods block."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._partial = _partial(target)
        self._stack = contextlib.ExitStack()
        self._file: BinaryIO

    def begin(self) -> None:
        """Open the file beside its place. Raises Conflict when there is one already."""
        with _disk_errors("written"):
            self._target.parent.mkdir(mode=0o700, exist_ok=True)
            if self._target.exists():
                raise _taken(self._target.name)
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                handle = os.open(self._partial, flags, 0o600)
            except FileExistsError as error:
                raise _taken(self._target.name) from error
        self._file = os.fdopen(handle, "wb")
        self._stack.callback(_remove, self._partial)
        self._stack.callback(_close, self._file)

    def add(self, chunk: bytes) -> None:
        """Write a piece."""
        with _disk_errors("written"):
            self._file.write(chunk)

    def seal(self) -> None:
        """Sync the file, give it its name, and sync that."""
        with _disk_errors("written"):
            self._file.flush()
            os.fsync(self._file.fileno())
            self._partial.rename(self._target)
            try:
                _sync(self._target.parent)
                _sync(self._target.parent.parent)
            except OSError:
                _remove(self._target)
                raise

    def end(self) -> None:
        """Close the file; a blob that was not sealed is gone."""
        self._stack.close()


def _listed(folder: Path, after: str, before: float) -> Listing:
    places = sorted(place.name for place in folder.iterdir() if place.is_dir())
    place = next((name for name in places if name > after), None)
    if place is None:
        return Listing((), None)
    keys = set()
    with os.scandir(folder / place) as entries:
        for entry in entries:
            key = entry.name.removesuffix(_PARTIAL)
            # Another may remove it while it is looked at; then it is none of the old ones.
            with contextlib.suppress(FileNotFoundError):
                if _KEY.fullmatch(key) and entry.stat().st_mtime <= before:
                    keys.add(key)
    return Listing(sorted(keys), place)


def _owner(folder: Path, owner: str) -> str:
    mark = folder / _OWNER
    if not mark.exists():
        draft = folder / f"{_OWNER}.{owner}"
        draft.write_text(owner)
        # A link, since of two that come at once only the first may have it.
        with contextlib.suppress(FileExistsError):
            os.link(draft, mark)
        draft.unlink()
        _sync(folder)
    return mark.read_text()


def _close(file: BinaryIO) -> None:
    # What could not be flushed was refused already, or is not wanted.
    with contextlib.suppress(OSError):
        file.close()


def _remove(path: Path) -> None:
    # What can't be removed is swept later: the store knows its key.
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def _partial(target: Path) -> Path:
    return target.with_name(f"{target.name}{_PARTIAL}")


def _make(folder: Path) -> None:
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in missing:
        _sync(path.parent)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _gone(key: str) -> NotFound:
    return NotFound(f"The file {key} is not in the blob store any more.")


def _taken(key: str) -> Conflict:
    return Conflict(f"The blob store has a file {key} already.")


@contextlib.contextmanager
def _reading(key: str) -> Iterator[None]:
    with _disk_errors("read"):
        try:
            yield
        except FileNotFoundError as error:
            raise _gone(key) from error


@contextlib.contextmanager
def _disk_errors(done: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreUnavailable(
            f"The blob store can't be {done} ({error.strerror}); free space or mend the rights."
        ) from error
