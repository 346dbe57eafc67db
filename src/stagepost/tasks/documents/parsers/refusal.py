"""The one way a parser says no, and the one shape of its yes."""

from dataclasses import dataclass


class Refusal(Exception):
    """The file can't be read; the message is what its owner is told, remedy included."""


@dataclass(frozen=True, slots=True)
class Extract:
    """Text with its page ranges: half-open code point ranges that tile `text` without gaps."""

    media_type: str
    text: str
    pages: tuple[tuple[int, int], ...]
    warnings: tuple[str, ...] = ()


def one_page(media_type: str, text: str, warnings: tuple[str, ...] = ()) -> Extract:
    """An extract of a format that has no pages of its own."""
    return Extract(media_type, text, ((0, len(text)),), warnings)
