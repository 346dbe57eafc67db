"""How much one document may cost before it is refused.

This module is imported by the sandboxed child too: it needs nothing beyond the standard library.
"""

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Caps of one parse; whatever goes beyond is refused with a sentence, never cut off silently.

    `bytes`, `pages`, `characters` bound the document; `memory` (bytes of address space),
    `cpu_seconds`, `wall_seconds` and `open_files` bound the process that reads it.
    """

    bytes: int = 100 * MIB
    pages: int = 10_000
    characters: int = 40_000_000
    memory: int = 1024 * MIB
    cpu_seconds: int = 60
    wall_seconds: float = 120.0
    open_files: int = 64

    @property
    def output_bytes(self) -> int:
        """What the child may write: every character as four bytes of UTF-8 or a short escape."""
        return 6 * self.characters + 64 * self.pages + 64 * 1024


DEFAULT_LIMITS = Limits()
