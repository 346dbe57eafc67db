"""The small language in which rules say what wording they look for.

A phrase is written as regular expressions joined by `…`: `terminate … convenience` means that both
occur in one sentence, in this order, with at most `reach` characters between them; `…12` allows 12.
`@` at a phrase's start means that the sentence must begin with it.

Reading is linear: each part scans the sentence once, and the parts are chained by walking their
places in order, never by backtracking over the gap. A part repeats nothing without a bound.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

REACH = {"en": 90, "zh": 40}  # characters between two parts, unless a phrase says otherwise
_GAP = re.compile(r"…(\d{0,3})")
_PLACES_MOST = 200  # places of one part in one sentence


@dataclass(frozen=True, slots=True)
class Phrase:
    """A compiled phrase."""

    parts: tuple[re.Pattern[str], ...]
    gaps: tuple[int, ...]  # characters allowed before each part; the first is not looked at
    at_start: bool

    def find(self, text: str, start: int, end: int) -> tuple[int, int] | None:
        """The first place of the phrase within `text[start:end]`, as a range of `text`."""
        chains: list[tuple[int, int]] = []
        for number, part in enumerate(self.parts):
            places = _places(part, text, start, end)
            chains = places if number == 0 else list(_joined(chains, places, self.gaps[number]))
            if number == 0 and self.at_start:
                chains = [place for place in chains if place[0] == start]
            if not chains:
                return None
        return chains[0]


def _joined(
    chains: list[tuple[int, int]], places: list[tuple[int, int]], reach: int
) -> Iterator[tuple[int, int]]:
    """Each place with the nearest chain that ends before it and within reach."""
    taken = 0
    for begin, stop in places:
        while taken < len(chains) and chains[taken][1] <= begin:
            taken += 1
        if taken and begin - chains[taken - 1][1] <= reach:
            yield chains[taken - 1][0], stop


def _places(part: re.Pattern[str], text: str, start: int, end: int) -> list[tuple[int, int]]:
    found = []
    for place in part.finditer(text, start, end):
        found.append(place.span())
        if len(found) == _PLACES_MOST:
            break
    return found


def phrase(written: str, reach: int) -> Phrase:
    """Compile one phrase; `reach` is what a gap without a number allows."""
    at_start = written.startswith("@")
    first, *rest = _GAP.split(written.removeprefix("@"))
    parts, gaps = [first, *rest[1::2]], [0, *(int(gap) if gap else reach for gap in rest[::2])]
    compiled = tuple(re.compile(part.strip(" ")) for part in parts)
    return Phrase(compiled, tuple(gaps), at_start)


def phrases(written: tuple[str, ...], reach: int) -> tuple[Phrase, ...]:
    """Compile the alternatives of one rule."""
    return tuple(phrase(one, reach) for one in written)


def first(alternatives: tuple[Phrase, ...], text: str, start: int, end: int) -> tuple[int, int]:
    """The first alternative that is found, or the empty range `(start, start)`."""
    for one in alternatives:
        found = one.find(text, start, end)
        if found:
            return found
    return start, start
