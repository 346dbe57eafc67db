"""Numbers that may begin a clause: every candidate, with what it counts and in which style.

Whether a candidate really counts is decided later by its neighbours (`runs.py`). Here only what can
never be a clause's number is left out: quantities, and references that a line happens to begin
with ("第十条规定的", "Section 2.3 of").
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from stagepost.tasks.documents.clauses import numerals
from stagepost.tasks.documents.clauses.lines import Line

_LONG_LINE = 300  # characters; a shorter line holds one clause at most
_LONGEST_BARE = 90  # a number without punctuation counts only before a heading, which is short


@dataclass(frozen=True, slots=True)
class Marker:
    """A candidate: its number stands from `start` to `end` in `line` (an index).

    `values` has one number, or several for a dotted one (7.2.1). `fresh` is as of its line; an
    `inline` one stands within a line, behind the end of a sentence.
    """

    start: int
    end: int
    number: str
    style: str
    values: tuple[int, ...]
    line: int
    fresh: bool
    inline: bool = False


_Found = tuple[str, str, tuple[int, ...]]  # number as printed, style, values
_Reader = Callable[[re.Match[str]], Iterator[_Found]]

_HAN_COUNT = r"[一二三四五六七八九十百千零〇两\d]{1,8}"
_FOLLOWS = r"(?=\s|$|[A-Z“”\"'(（《【〔\[\u4e00-\u9fff])"
_OPENS = re.compile(r"(?:#{1,6}\s+|>\s*)?(?:\*\*|__)?")  # Markdown's headings, quotes and bold

_HAN_REFERS = re.compile(
    r"(?:[规约]定|的|所[述列称规约指]|之[规约]|中[，的、规约]|[和与及或至到]第|[第项款]|以[上下前后内外]"
    r"|载明|要求的|[、，。；）),;])"
)
_WORD_REFERS = re.compile(r"\s*(?:[,;)\]“\"]|[a-z])|\(")
_DOTTED_REFERS = re.compile(
    r"\s*(?:%|％|‰|(?:of|and|or|above|below|hereof|million|billion|percent|per\s?cent|years?|days?"
    r"|months?|times|inch(?:es)?|[x×]|U\.?S\.?C|C\.?F\.?R)\b)"
    r"|(?:年|月|日|万|亿|元|倍|个|天|小时|米|吨|公里|平方|公斤|千克|次|人|周|时|分)"
    r"(?![\u4e00-\u9fff])|(?:年|万|亿|元|倍|个|天|小时|平方|公里)"
)


def _han(match: re.Match[str]) -> Iterator[_Found]:
    value = numerals.chinese(match[1])
    if value:
        yield match[0].rstrip(" \u3000:：、.．"), match[2], (value,)


def _han_list(match: re.Match[str]) -> Iterator[_Found]:
    value = numerals.chinese(match[1])
    if value:
        yield match[1], "han、", (value,)


def _han_paren(match: re.Match[str]) -> Iterator[_Found]:
    value = numerals.chinese(match[1])
    if value:
        yield _printed(match), "han()", (value,)


def _circled(match: re.Match[str]) -> Iterator[_Found]:
    yield match[0], "circled", (ord(match[0]) - ord("①") + 1,)


def _worded(match: re.Match[str]) -> Iterator[_Found]:
    number = match[0].rstrip(" .:：)-–—")
    if "." in match[2]:
        values = tuple(map(int, match[2].split(".")))
        yield number, f"dotted{len(values)}", values
    elif value := numerals.any_numeral(match[2]):
        yield number, _WORD_STYLES[match[1].lower()], (value,)


def _dotted(match: re.Match[str]) -> Iterator[_Found]:
    values = tuple(map(int, match[1].replace("．", ".").split(".")))
    yield match[1], f"dotted{len(values)}", values


def _dotted_letter(match: re.Match[str]) -> Iterator[_Found]:
    yield match[0].rstrip("."), "dotted2", (int(match[1]), ord(match[2]) - 64)


def _decimal(match: re.Match[str]) -> Iterator[_Found]:
    close = match[2] in ")）"
    number = _printed(match) if close else match[1]
    yield number, "decimal)" if close else "decimal", (int(match[1]),)


def _decimal_paren(match: re.Match[str]) -> Iterator[_Found]:
    yield _printed(match), "decimal()", (int(match[1]),)


def _bare(match: re.Match[str]) -> Iterator[_Found]:
    yield match[1], "bare", (int(match[1]),)


def _letter(match: re.Match[str]) -> Iterator[_Found]:
    close = match[2] in ")）"
    yield from _letters(match[1], _printed(match) if close else match[1], ")" if close else "")


def _letter_paren(match: re.Match[str]) -> Iterator[_Found]:
    yield from _letters(match[1], _printed(match), "()")


def _printed(match: re.Match[str]) -> str:
    """A number with its brackets as the contract has them."""
    return "".join(match[0].split()).rstrip("、.")


def _letters(text: str, number: str, shape: str) -> Iterator[_Found]:
    """A letter, a Roman numeral, or both: (i) follows (h) as well as nothing."""
    case = "upper" if text.isupper() else "lower"
    if text != text.upper() and text != text.lower():
        return
    if value := numerals.letter(text):
        yield number, f"{case}{shape}", (value,)
    if value := numerals.roman(text):
        yield number, f"{case}-roman{shape}", (value,)


_WORD_STYLES = {
    "article": "article", "section": "section", "sec.": "section", "§": "section",
    "clause": "section", "part": "part", "chapter": "chapter",
}  # fmt: skip

# A pattern, its reader, and what must not follow it.
_KINDS: tuple[tuple[re.Pattern[str], _Reader, re.Pattern[str] | None], ...] = (
    (
        re.compile(
            rf"第\s?({_HAN_COUNT})\s?(编|分编|章|节|条)(?:之[一二三四五六七八九十])?[:：、.．]?"
        ),
        _han,
        _HAN_REFERS,
    ),
    (re.compile(r"([一二三四五六七八九十]{1,3})\s?[、．.]"), _han_list, None),
    (re.compile(r"[（(]\s?([一二三四五六七八九十]{1,3})\s?[)）]、?"), _han_paren, None),
    (re.compile(r"[①-⑳]"), _circled, None),
    (
        re.compile(
            r"(ARTICLE|Article|SECTION|Section|Sec\.|SEC\.|§|CLAUSE|Clause|PART|Part|CHAPTER|Chapter)"
            rf"\s{{0,3}}(\d{{1,3}}(?:\.\d{{1,3}}){{0,4}}|[IVXLC]{{1,8}}|{numerals.WORD_NUMBERS})"
            r"(?![\w-])\s?[.:：]?(?!\w)",
        ),
        _worded,
        _WORD_REFERS,
    ),
    (
        re.compile(rf"(\d{{1,3}}(?:[.．]\d{{1,3}}){{1,5}})[.．)、:]?(?![\d.．]){_FOLLOWS}"),
        _dotted,
        _DOTTED_REFERS,
    ),
    (re.compile(r"(\d{1,2})\.([A-Z])\.?(?=\s|$)"), _dotted_letter, None),
    (re.compile(rf"(\d{{1,3}})\s?([.、．)）])(?![\d.]){_FOLLOWS}"), _decimal, _DOTTED_REFERS),
    (re.compile(r"[（(]\s?(\d{1,3})\s?[)）]、?"), _decimal_paren, None),
    (re.compile(r"(\d{1,2})(?=[ \t\u3000]+[A-Z\u4e00-\u9fff“\"])"), _bare, _DOTTED_REFERS),
    (re.compile(r"([A-Za-z]{1,5})([.)）、])(?=\s|$|[“\"\u4e00-\u9fff])"), _letter, None),
    (re.compile(r"[（(]\s?([A-Za-z]{1,6})\s?[)）][.、]?"), _letter_paren, None),
)
_INLINE = re.compile(
    r"(?<=[.;:。；：”\"\])*])[ \t\u3000]+(?="
    r"(?:ARTICLE|Article|SECTION|Section|第)\s?[\dIVXLC一二三四五六七八九十]"
    r"|(?:ARTICLE|Article)\s[A-Z]|\d{1,2}\.?\s+[A-Z“\"]|[A-Z]\.\s+[A-Z]|\([a-z]{1,4}\)\s+[A-Z“\"])"
    r"|(?<=[A-Z]{3})[ \t]+(?=Section\s\d{1,2}\.\d)"
    r"|(?<=[^,(])[ \t\u3000]+(?=\d{1,2}(?:\.\d{1,2}){1,3}\.?\s+[A-Z“\"])"
)
_REFERRING = re.compile(  # words before a number that make it a reference or a quantity
    r"(?:\b(?:sections?|articles?|clauses?|paragraphs?|sec|and|or|to|of|in|with|by|under|through|than|is"
    r"|exhibits?|schedules?|rules?|version|no|us|usd|rmb)\.?|[§$€£¥&(])\s*$",
    re.IGNORECASE,
)


def markers_in(text: str, line: Line, index: int) -> Iterator[Marker]:
    """The candidates of one line: at its start, and within it if it is long."""
    opening = _OPENS.match(text, line.start, line.end)
    start = opening.end() if opening else line.start
    for marker in _read(text, start, line, index):
        if marker.style != "bare" or _is_heading(text, line):
            yield marker
    if line.end - line.start > _LONG_LINE:
        yield from _inline(text, start, line, index)


def _inline(text: str, start: int, line: Line, index: int) -> Iterator[Marker]:
    for gap in _INLINE.finditer(text, start + 1, line.end):
        if _REFERRING.search(text, max(start, gap.start() - 12), gap.end()):
            continue
        sentence = text[gap.start() - 1] in ".。"
        for marker in _read(text, gap.end(), line, index):
            if marker.style != "bare" and (sentence or not _is_letter(marker.style)):
                yield replace(marker, inline=True)


def _read(text: str, start: int, line: Line, index: int) -> Iterator[Marker]:
    """Every reading of what stands at `start`; a letter may be a Roman numeral as well."""
    for pattern, reader, refers in _KINDS:
        match = pattern.match(text, start, line.end)
        if match is None or (refers and refers.match(text, match.end(), line.end)):
            continue
        for number, style, values in reader(match):
            yield Marker(start, match.end(), number, style, values, index, line.fresh)
        return


def _is_letter(style: str) -> bool:
    return style.startswith(("lower", "upper"))


def _is_heading(text: str, line: Line) -> bool:
    return line.end - line.start <= _LONGEST_BARE and text[line.end - 1] not in ".;,。；，:："
