"""PORT. Where the seals of the ledger are copied to, out of reach of whoever can write to it."""

from collections.abc import Sequence
from typing import Protocol


class Anchor(Protocol):
    """Takes seals, and gives none back: only a verification reads it.

    What was taken is never changed. The same seal may come again, after a crash between an
    anchor's answer and the note of it; then both stand there.
    """

    async def keep(self, lines: Sequence[str]) -> None:
        """Keep these lines, each a seal as JSON; once this returns they are safe.

        Raises AnchorUnavailable, after which some of them may have been kept.
        """
        ...

    async def close(self) -> None:
        """Let go of it."""
        ...
