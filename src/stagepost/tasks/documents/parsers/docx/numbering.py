"""Automatic numbering: which label Word prints before a paragraph.

A paragraph names a list (`w:num`) and a level, itself or through its style; the list points to an
abstract list that has up to nine levels and one counter for each.
"""

import re
from dataclasses import dataclass, field, replace

from lxml import etree

from stagepost.tasks.documents.parsers.docx.numerals import formatted
from stagepost.tasks.documents.parsers.docx.tags import (
    attribute,
    children,
    is_on,
    local,
    number,
    only_child,
)

LEVELS = 9
_MOST_STYLES = 50  # in one chain of "based on"; Word stops earlier
_PLACE = re.compile(r"%([1-9])")
_BULLET = "\u2022"


@dataclass(frozen=True, slots=True)
class Level:
    """How one level of a list counts and prints."""

    start: int = 1
    kind: str = "decimal"
    text: str = ""
    legal: bool = False  # every number in the label as a plain decimal
    restart: int | None = None  # the 1-based level that restarts this one; 0 never; None any above
    glue: str = " "


@dataclass(slots=True)
class _List:
    """An abstract list's state: its counters go on through all lists that share it."""

    levels: tuple[Level, ...]
    counters: list[int | None] = field(default_factory=lambda: [None] * LEVELS)


@dataclass(frozen=True, slots=True)
class _Num:
    """A list of the document: its abstract list, and the levels and starts it overrides."""

    shared: _List
    levels: tuple[Level, ...]
    starts: dict[int, int]


class Numbering:
    """Labels for paragraphs, asked for in the order of the document, each once."""

    def __init__(self, numbering: etree._Element | None, styles: etree._Element | None) -> None:
        self._styles = _styles(styles)
        self._nums = {} if numbering is None else _nums(numbering, self._styles)
        self._started: set[tuple[int, int]] = set()

    def label(self, properties: etree._Element | None) -> str:
        """The label with what separates it from the text; empty for an unnumbered paragraph.

        `properties` is the paragraph's `w:pPr`. Counts one up.
        """
        place = self._place(properties)
        if place is None:
            return ""
        ident, at = place
        num = self._nums.get(ident)
        if num is None:
            return ""
        level = num.levels[at]
        self._count(ident, num, at)
        text = _BULLET if level.kind == "bullet" else _label(num, at)
        return f"{text}{level.glue}" if text else ""

    def _place(self, properties: etree._Element | None) -> tuple[int, int] | None:
        """List and level: the paragraph's own, completed by those of its style."""
        own = _num_pr(properties)
        style = self._style_place(attribute(only_child(properties, "pStyle")))
        ident = own[0] if own[0] is not None else style[0]
        at = own[1] if own[1] is not None else style[1]
        if not ident:  # 0 takes a paragraph out of its style's list
            return None
        return ident, min(max(at or 0, 0), LEVELS - 1)

    def _style_place(self, name: str | None) -> tuple[int | None, int | None]:
        ident: int | None = None
        at: int | None = None
        for _ in range(_MOST_STYLES):
            style = self._styles.get(name or _DEFAULT)
            if style is None:
                break
            ident = style.ident if ident is None else ident
            at = style.at if at is None else at
            if style.based_on is None:
                break
            name = style.based_on
        return ident, at

    def _count(self, ident: int, num: _Num, at: int) -> None:
        counters = num.shared.counters
        now = counters[at]
        if at in num.starts and (ident, at) not in self._started:
            counters[at] = num.starts[at]
        else:
            counters[at] = num.levels[at].start if now is None else now + 1
        self._started.add((ident, at))
        for deeper in range(at + 1, LEVELS):
            restart = num.levels[deeper].restart
            if restart is None or at < restart:
                counters[deeper] = None


def _label(num: _Num, at: int) -> str:
    level = num.levels[at]

    def write(place: re.Match[str]) -> str:
        index = int(place[1]) - 1
        value = num.shared.counters[index]
        shown = num.levels[index]
        kind = "decimal" if level.legal and shown.kind != "none" else shown.kind
        return formatted(shown.start if value is None else value, kind)

    return _PLACE.sub(write, level.text).strip()


_DEFAULT = ""  # the name under which the default paragraph style is kept


@dataclass(frozen=True, slots=True)
class _Style:
    ident: int | None
    at: int | None
    based_on: str | None


def _num_pr(properties: etree._Element | None) -> tuple[int | None, int | None]:
    """List and level as a `w:pPr` names them itself."""
    return (
        number(only_child(properties, "numPr", "numId")),
        number(only_child(properties, "numPr", "ilvl")),
    )


def _styles(root: etree._Element | None) -> dict[str, _Style]:
    styles: dict[str, _Style] = {}
    for style in () if root is None else children(root, "style"):
        if attribute(style, "type") not in {"paragraph", "numbering"}:
            continue
        ident, at = _num_pr(only_child(style, "pPr"))
        found = _Style(ident, at, attribute(only_child(style, "basedOn")))
        styles[attribute(style, "styleId") or ""] = found
        if attribute(style, "type") == "paragraph" and attribute(style, "default") in {"1", "true"}:
            styles[_DEFAULT] = found
    return styles


def _nums(root: etree._Element, styles: dict[str, _Style]) -> dict[int, _Num]:
    abstract = {number(item, "abstractNumId"): item for item in children(root, "abstractNum")}
    pointers = {
        ident: number(only_child(item, "abstractNumId"))
        for item in children(root, "num")
        if (ident := number(item, "numId")) is not None
    }
    lists = {
        key: _List(_levels(_linked(item, abstract, pointers, styles)))
        for key, item in abstract.items()
    }
    return {
        ident: _num(item, lists[pointer])
        for item in children(root, "num")
        if (ident := number(item, "numId")) is not None and (pointer := pointers[ident]) in lists
    }


def _linked(
    item: etree._Element,
    abstract: dict[int | None, etree._Element],
    pointers: dict[int, int | None],
    styles: dict[str, _Style],
) -> etree._Element:
    """The abstract list itself, or the one that a numbering style lends it."""
    style = styles.get(attribute(only_child(item, "numStyleLink")) or "-")
    if style is None or style.ident is None:
        return item
    return abstract.get(pointers.get(style.ident), item)


def _levels(item: etree._Element) -> tuple[Level, ...]:
    levels = [Level()] * LEVELS
    for element in children(item, "lvl"):
        at = number(element, "ilvl")
        if at is not None and 0 <= at < LEVELS:
            levels[at] = _level(element)
    return tuple(levels)


def _level(element: etree._Element) -> Level:
    parts = {local(child): child for child in element}
    start = number(parts.get("start"))
    suffix = attribute(parts.get("suff"))
    return Level(
        start=1 if start is None else start,
        kind=attribute(parts.get("numFmt")) or "decimal",
        text=attribute(parts.get("lvlText")) or "",
        legal=is_on(parts.get("isLgl")),
        restart=number(parts.get("lvlRestart")),
        glue="" if suffix == "nothing" else " ",
    )


def _num(item: etree._Element, shared: _List) -> _Num:
    levels = list(shared.levels)
    starts: dict[int, int] = {}
    for override in children(item, "lvlOverride"):
        at = number(override, "ilvl")
        if at is None or not 0 <= at < LEVELS:
            continue
        own = only_child(override, "lvl")
        if own is not None:
            levels[at] = _level(own)
        start = number(only_child(override, "startOverride"))
        if start is not None:
            starts[at] = start
            levels[at] = replace(levels[at], start=start)
    return _Num(shared, tuple(levels), starts)
