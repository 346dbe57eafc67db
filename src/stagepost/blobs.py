"""PORT. Large bytes beside the store: uploads, artifacts, results and checkpoints over 64 KiB.

A blob is written once under a key and never changed. The store knows every key before its first
byte is written (`Store.stage`), so that what no task refers to can be found and removed.
"""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

OFFLOAD_OVER = 64 * 1024
"""Bytes from which a JSON value is kept as a blob instead of in its row."""


class Stored(NamedTuple):
    """What was written: bytes and their SHA-256 in hexadecimal."""

    size: int
    sha256: str


class Listing(NamedTuple):
    """Some keys; the rest comes behind `after`, nothing any more when it is None."""

    keys: Sequence[str]
    after: str | None


class Blobs(Protocol):
    """Puts, gets and deletes blobs; a key is a UUID."""

    async def put(self, key: str, chunks: AsyncIterator[bytes], *, limit: int) -> Stored:
        """Write a blob; when this returns, it survives a power cut.

        Raises ValueError when more than `limit` bytes come, StoreUnavailable when it can't be
        written, Conflict when the key is taken, and whatever `chunks` raises; nothing is kept then.
        """
        ...

    async def get(self, key: str) -> bytes:
        """The whole blob. Raises NotFound."""
        ...

    def stream(self, key: str, *, chunk: int = 256 * 1024) -> AsyncIterator[bytes]:
        """The blob in pieces. Raises NotFound at the first one."""
        ...

    async def path(self, key: str) -> Path:
        """A local file with the blob's bytes, for reading only. Raises NotFound."""
        ...

    async def delete(self, key: str) -> None:
        """Remove a blob; one that is gone already is no error."""
        ...

    async def listed(self, after: str, *, older_than: float) -> Listing:
        """A part of the keys under which something was written so many seconds ago, or begun.

        The first call has an `after` of ""; the next ones that of the part before.
        """
        ...

    async def belong_to(self, owner: str) -> bool:
        """Whether the blobs are this owner's; of those who ask the first one is it, for ever."""
        ...

    async def close(self) -> None:
        """Let go of what it works with; nothing is asked of it any more."""
        ...
