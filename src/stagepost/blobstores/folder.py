"""Blobs as files: written beside their place, synced, then renamed into it."""

import asyncio
import contextlib
import hashlib
import os
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from stagepost.blobs import Stored
from stagepost.errors import NotFound, StoreUnavailable

_KEY: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class FolderBlobs:
    """One file a blob, spread over 256 folders by the end of its key."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    async def put(self, key: str, chunks: AsyncIterator[bytes], *, limit: int) -> Stored:
        """Write a blob that survives a power cut."""
        target = self._path(key)
        partial = target.with_suffix(".partial")
        digest, size = hashlib.sha256(), 0
        with _disk_errors(), contextlib.ExitStack() as stack:
            target.parent.mkdir(mode=0o700, exist_ok=True)
            file = stack.enter_context(await asyncio.to_thread(_create, partial))
            stack.callback(partial.unlink, missing_ok=True)
            async for chunk in chunks:
                size += len(chunk)
                if size > limit:
                    raise ValueError(f"more than {limit} bytes")
                digest.update(chunk)
                await asyncio.to_thread(file.write, chunk)
            await asyncio.to_thread(_seal, file, partial, target)
        return Stored(size, digest.hexdigest())

    async def get(self, key: str) -> bytes:
        """The whole blob."""
        path = await self.path(key)
        return await asyncio.to_thread(path.read_bytes)

    async def stream(self, key: str, *, chunk: int = 256 * 1024) -> AsyncIterator[bytes]:
        """The blob in pieces."""
        path = await self.path(key)
        with await asyncio.to_thread(path.open, "rb") as file:
            while piece := await asyncio.to_thread(file.read, chunk):
                yield piece

    async def path(self, key: str) -> Path:
        """The blob's own file."""
        path = self._path(key)
        if not await asyncio.to_thread(path.is_file):
            raise NotFound(f"The file {key} is not in the blob store any more.")
        return path

    async def delete(self, key: str) -> None:
        """Remove a blob."""
        await asyncio.to_thread(self._path(key).unlink, missing_ok=True)

    def _path(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise NotFound("A blob's key is a UUID.")
        # The end of a UUIDv7 is random, its start is the time.
        return self._folder / key[-2:] / key


def _create(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")


def _seal(file: BinaryIO, partial: Path, target: Path) -> None:
    file.flush()
    os.fsync(file.fileno())
    partial.rename(target)
    for folder in (target.parent, target.parent.parent):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreUnavailable(
            f"The blob store can't be written ({error.strerror}); free space or mend the rights."
        ) from error
