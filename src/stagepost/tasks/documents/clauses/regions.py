"""Parts of a text that are no clauses: tables and signature blocks."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from stagepost.tasks.documents.clauses.lines import Line

_FEWEST_ROWS = 2
_PIPES = re.compile(r"\|.*\|")
_WITNESS = re.compile(
    r"IN\s+WITNESS\s+(?:WHEREOF|HEREOF)|\W{0,3}SIGNATURE\s+PAGES?\b|\W{0,3}(?:以下|本页|此页)无正文"
    r"|.{0,20}(?:签署页|签字页|签章页)",
    re.IGNORECASE,
)
_PARTY = (
    r"(?:甲|乙|丙|丁|买|卖|出租|承租|发包|承包|委托|受托|转让|受让|许可|被许可|用人单位|劳动者)"
)
_SIGNED = re.compile(
    r"(?:by|name|title|its|date|dated|signed|signature|print\s+name|attest|witness|company|address"
    r"|for\s+and\s+on\s+behalf\s+of)\s*:|/s/|_{6,}|(?:by|name|title|signature|date)\s*_{3,}"
    r"|[^\s，。；、]{0,12}[:：]?\s{0,4}[（(]\s?(?:签字|签名|盖章|签章|公章|签署)[^）)]{0,8}[）)]"
    r"|[^\s，。；、]{0,8}(?:签字|签名|盖章|签章)\s?[:：]"
    r"|(?:法定|授权|委托)?(?:代表人|代表|代理人|负责人|经办人|借款人|出借人|保证人|担保人)"
    r"[（(\w）)]{0,8}\s?[:：]"
    r"|(?:签订|签署|签约)?(?:日期|时间|地点)\s?[:：]|\s*年\s+月\s+日"
    rf"|{_PARTY}方?[（(]?[^）)，。；]{{0,8}}[）)]?\s?[:：]\s*(?:_|$|\s{{4,}})",
    re.IGNORECASE,
)
_FEWEST_SIGNED = 3
_PROSE = 300  # characters; what is to be filled in is shorter
_WINDOW = 8  # lines in which so many must be signed


def tables_in(text: str, lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
    """Half-open ranges of lines that are rows: cells between tabs, or between pipes."""
    kinds = ((_row_kind(text, line), index) for index, line in enumerate(lines))
    for kind, rows in groupby(kinds, lambda pair: pair[0]):
        indices = [index for _, index in rows]
        if kind and len(indices) >= _FEWEST_ROWS:
            yield indices[0], indices[-1] + 1


def _row_kind(text: str, line: Line) -> str:
    content = text[line.start : line.end]
    if "\t" in content:
        return "tabs"
    return "pipes" if _PIPES.fullmatch(content) else ""


def signatures_in(text: str, lines: Sequence[Line], *, first: int) -> Iterator[tuple[int, int]]:
    """Half-open ranges of lines behind line `first` that are signature blocks.

    One begins with the sentence that witnesses, or with the first of several lines to be filled in,
    and ends at the latest where prose begins again.
    """
    signed = [bool(_SIGNED.match(text, line.start, line.end)) for line in lines]
    end = first + 1
    for index, line in enumerate(lines):
        if index < end:
            continue
        near = signed[index : index + _WINDOW]
        if _WITNESS.match(text, line.start, line.end) or (near[0] and sum(near) >= _FEWEST_SIGNED):
            end = _end_of_block(lines, index)
            yield index, end


def _end_of_block(lines: Sequence[Line], start: int) -> int:
    """The first line of prose behind the block's first two lines."""
    for index in range(start + 2, len(lines)):
        line = lines[index]
        if line.opens and line.end - line.start > _PROSE:
            return index
    return len(lines)
