"""A text as the rules read it, with the way back to the original.

Layout must not hide words: a line break in the middle of a phrase, full-width digits, curly quotes
or a hyphen at a line's end are undone here. Every position of the view maps to one position of the
original, so that what a rule finds can be quoted verbatim.
"""

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

SENTENCE_MOST = 4_000  # characters; a longer "sentence" is a table or a text without full stops

_FULLWIDTH = {0xFF01 + i: 0x21 + i for i in range(94)}
_KEPT_WIDE = "，；！？"  # Chinese punctuation that the patterns write as it is
_QUOTES = {
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "„": '"',
    "—": "-",
    "–": "-",
    "‑": "-",
    "－": "-",
}
_PLAIN = str.maketrans(
    {chr(k): chr(v) for k, v in _FULLWIDTH.items() if chr(k) not in _KEPT_WIDE}
    | _QUOTES
    | {"「": '"', "」": '"', "『": '"', "』": '"'}
)
_HAN = r"[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]"
# A single space between Latin words is left alone; only the other gaps need a decision.
_SPACES = re.compile(
    r"(?<![Nn]on)-\n(?=[a-z])|(?<=\b[Nn]on-)\s{1,4}|[\s\u200b\ufeff]{2,10000}|[^\S ]|[\u200b\ufeff]"
    rf"|(?<={_HAN}) (?={_HAN})"
)
_SHORTENED = re.compile(
    r"(?:\b(?:inc|corp|co|ltd|llc|l\.l\.c|no|nos|sec|art|mr|mrs|ms|dr|st|vs|v|u\.s|u\.k|e\.g|i\.e"
    r"|etc|approx|jr|sr|n\.v|b\.v|s\.a|p\.m|a\.m)|[\s(.\"][a-z]|\d)\.$",
    re.IGNORECASE,
)
_STOP = re.compile(r"[.?!](?=[\"')\]]{0,2} [\"'(\[]{0,2}[A-Z0-9])|[。！？](?:\"|\))?")
_ITEM = re.compile(
    r"第[一二三四五六七八九十百零\d]{1,6}[条章节]|\d{1,2}(?:\.\d{1,2}){1,3}[ 、.]?"
    r"|\d{1,2}[、.)] ?|\([a-z]{1,4}\) "
    r"|\([一二三四五六七八九十\d]{1,3}\)|[一二三四五六七八九十]{1,3}、|[甲乙丙丁]方(?:\([^()]{1,12}\))?:|附件[一二三四五六\d]"
)


@dataclass(frozen=True, slots=True)
class View:
    """`lower` for matching and `cased` for names, of equal length.

    `offsets[i]` is where in the original the character `i` stands; it has one entry more than there
    are characters, for the end. `breaks` are the positions where the original begins a paragraph or
    an item.
    """

    cased: str
    lower: str
    offsets: "array[int]" = field(repr=False)
    breaks: tuple[int, ...] = ()

    def span(self, start: int, end: int) -> tuple[int, int]:
        """A non-empty range of the view as a range of the original, edges without white space."""
        return self.offsets[start], self.offsets[end - 1] + 1


@lru_cache(maxsize=2)  # the whole document is read by several steps, one after the other
def view(text: str) -> View:
    """Read a text: white space collapsed (dropped between Chinese characters), widths folded."""
    plain = text.translate(_PLAIN)
    pieces: list[str] = []
    offsets = array("L")
    breaks: list[int] = []
    done = 0
    for gap in _SPACES.finditer(plain):
        pieces.append(plain[done : gap.start()])
        offsets.extend(range(done, gap.start()))
        if gap[0].count("\n") > 1 or ("\n" in gap[0] and _ITEM.match(plain, gap.end())):
            breaks.append(len(offsets))
        if _needs_space(text, gap):
            pieces.append(" ")
            offsets.append(gap.start())
        done = gap.end()
    pieces.append(plain[done:])
    offsets.extend(range(done, len(plain) + 1))
    cased = "".join(pieces)
    lower = cased.lower()
    if len(lower) != len(cased):  # a few letters grow when lowered; those stay as they are
        lower = "".join(low if len(low := c.lower()) == 1 else c for c in cased)
    return View(cased, lower, offsets, tuple(breaks))


def _needs_space(text: str, gap: re.Match[str]) -> bool:
    if gap[0][0] == "-" or text[max(0, gap.start() - 4) : gap.start()].lower().endswith("non-"):
        return False
    if gap.start() == 0 or gap.end() == len(text):
        return True
    return not (_is_cjk(text[gap.start() - 1]) and _is_cjk(text[gap.end()]))


def _is_cjk(character: str) -> bool:
    code = ord(character)
    return 0x3000 <= code <= 0x303F or 0x3400 <= code <= 0x9FFF or 0xFF00 <= code <= 0xFFEF


def sentences(shown: View) -> Iterator[tuple[int, int]]:
    """The sentences of a view as ranges of it, in order, none longer than `SENTENCE_MOST`."""
    cuts = {0, len(shown.cased), *shown.breaks}
    cuts.update(_stops(shown.cased))
    for start, end in pairwise(sorted(cuts)):
        for part in range(start, end, SENTENCE_MOST):
            yield from _trimmed(shown.cased, part, min(part + SENTENCE_MOST, end))


def _stops(cased: str) -> Iterator[int]:
    for stop in _STOP.finditer(cased):
        before = cased[max(0, stop.start() - 8) : stop.start() + 1]
        if stop[0] != "." or not _SHORTENED.search(before):
            yield stop.end()


def _trimmed(cased: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and cased[start].isspace():
        start += 1
    while end > start and cased[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end
