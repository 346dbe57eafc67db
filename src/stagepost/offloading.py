"""What is kept beside the store: large JSON texts, and files, in pieces."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final, TypeVar

from stagepost.blobs import OFFLOAD_OVER
from stagepost.task import Payload

Answer = TypeVar("Answer")

_CHUNK: Final = 256 * 1024  # bytes


def inline(text: str) -> Payload | None:
    """JSON text as it is kept in its row; None when it is too large for that."""
    size = len(text) if text.isascii() else len(text.encode())
    return Payload(text, size) if size <= OFFLOAD_OVER else None


async def chunks(content: bytes | Path) -> AsyncIterator[bytes]:
    """Bytes, or those of a file, in pieces. Raises ValueError for a file that can't be read."""
    if isinstance(content, bytes):
        for start in range(0, max(1, len(content)), _CHUNK):
            yield content[start : start + _CHUNK]
        return
    with await _read(content, lambda: content.open("rb")) as file:
        while piece := await _read(content, lambda: file.read(_CHUNK)):
            yield piece


async def _read(path: Path, read: Callable[[], Answer]) -> Answer:
    # Translated, because an OSError among the chunks would be taken for one of the blob store.
    try:
        return await asyncio.to_thread(read)
    except OSError as error:
        raise ValueError(f"The file {path} can't be read: {error.strerror}.") from error
