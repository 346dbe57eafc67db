"""Where a quote stands in a text, though layout or typing may differ.

A quote is proved when its words are those of the text, letter by letter, after Unicode's
compatibility forms, white space, invisible characters and the shapes of quotation marks and dashes
are evened out. What is shown is then the text's own range, never the quote as it was given.
"""

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

LEAST = 6  # letters of a quote that can be found by more than chance
LEAST_HAN = 4
MOST = 2_000  # characters: more is no quote but the clause again

_SAME = str.maketrans(
    {
        **dict.fromkeys("‘’‚′`´", "'"),
        **dict.fromkeys("“”„″「」『』", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
    }
)


class Evened(NamedTuple):
    """A text without its accidents; `at[n]` is where the n-th letter's origin begins in it.

    The last entry of `at` is the text's length.
    """

    letters: str
    at: tuple[int, ...]


def locate(quote: str, text: str) -> tuple[int, int] | None:
    """The first range of the text that a quote stands for, or None when it can't be proved."""
    if len(quote) > MOST:
        return None
    wanted = evened(quote).letters
    least = LEAST_HAN if any("\u4e00" <= letter <= "\u9fff" for letter in wanted) else LEAST
    if len(wanted) < least or not any(letter.isalnum() for letter in wanted):
        return None
    there = evened(text)
    found = there.letters.find(wanted)
    if found < 0:
        return None
    return _whole(text, there.at[found], there.at[found + len(wanted) - 1])


def _whole(text: str, start: int, last: int) -> tuple[int, int]:
    """From `start` to the end of the character at `last`, its combining marks included."""
    end = last + 1
    while end < len(text) and unicodedata.combining(text[end]):
        end += 1
    return start, end


@lru_cache(maxsize=64)  # each finding of a clause is looked up in the same text
def evened(text: str) -> Evened:
    """A text as quotes are compared with it."""
    letters: list[str] = []
    at: list[int] = []
    for start, cluster in _clusters(text):
        for letter in unicodedata.normalize("NFKC", cluster).translate(_SAME):
            if not letter.isspace() and unicodedata.category(letter)[0] != "C":
                letters.append(letter)
                at.append(start)
    return Evened("".join(letters), (*at, len(text)))


def _clusters(text: str) -> Iterator[tuple[int, str]]:
    """Each character with the combining marks behind it: only so has it one composed form."""
    start = 0
    for place in range(1, len(text) + 1):
        if place == len(text) or not unicodedata.combining(text[place]):
            yield start, text[start:place]
            start = place
