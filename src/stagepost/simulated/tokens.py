"""How many tokens a text has: by a rule of thumb that needs no model. Pure.

Four characters of ASCII are a token, and so is each other character. An answer is streamed in just
these pieces, so that what is billed is what was sent.
"""

import re
from collections.abc import Sequence
from typing import Final

_ASCII: Final = 4
_PIECE: Final = re.compile(r"[\x00-\x7f]{1,4}|[^\x00-\x7f]")


def tokens_of(text: str) -> int:
    """How many; within a few of `len(pieces_of(text))`, and quick for long texts."""
    plain = len(text.encode("ascii", "ignore"))
    return -(-plain // _ASCII) + len(text) - plain


def pieces_of(text: str) -> Sequence[str]:
    """A text cut into its tokens."""
    return _PIECE.findall(text)
