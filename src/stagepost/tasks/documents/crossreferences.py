"""Cross-references: where a contract points at a clause or an annex, and whether that exists."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from stagepost.tasks.documents.clauses import numerals
from stagepost.tasks.documents.document import Clause, Document
from stagepost.tasks.documents.places import Places, item_key, part_key

MOST_REFERENCES = 50_000
ReferenceKind = Literal["clause", "annex", "external"]


class Reference(BaseModel):
    """`document.text[start:end]` in clause `clause` (an index) points at clause `target`.

    `target` is None for what is not in the document: a dangling reference, unless `kind` is
    `external`, which points into another document or a law ("Section 365 of the Bankruptcy Code").
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)

    start: int
    end: int
    clause: int
    kind: ReferenceKind
    target: int | None


_ITEMS = r"(?:\s?\([A-Za-z0-9]{1,5}\)){0,4}"
_NUMBER = (
    rf"(?:\d{{1,4}}+(?>(?:\.\d{{1,3}}+){{0,4}})(?!\d){_ITEMS}|[IVXLC]{{1,7}}+(?!\w){_ITEMS}"
    r"|(?:\([a-z0-9]{1,5}\)){1,4})"
)
_BLANK = r"(?:[ \t\u00a0]{1,4}|[ \t]{0,3}\r?\n[ \t]{0,8})"  # at most one line end
_JOINT = r"\s{0,3}(?:,\s{0,3}(?:and|or)?|and|or|to|through|&|-|–|—)\s{0,3}"
_WORDED = re.compile(
    r"\b(?P<kind>(?i:sections?|articles?|clauses?|paragraphs?|sub-?sections?|sub-?clauses?"
    rf"|sub-?paragraphs?)){_BLANK}(?P<numbers>{_NUMBER}(?:{_JOINT}{_NUMBER}){{0,20}})"
    rf"|(?P<sign>§{{1,2}})\s{{0,2}}(?P<signed>{_NUMBER})"
)
_ANNEX = re.compile(
    r"\b(?P<kind>(?i:Exhibit|Schedule|Annex(?:ure)?|Appendix|Attachment|Addendum))s?"
    rf"{_BLANK}"
    r"[“\"]?(?P<label>[IVX]{1,5}(?![\w-])|[A-Z]{1,2}(?:-\d{1,2})?"
    r"|\d{1,2}+(?:\.[a-z\d]{1,2}+)?[A-Z]?(?:\([a-z]\))?)[”\"]?(?!\w)"
)
_HAN = re.compile(
    r"第\s?(?P<number>[一二三四五六七八九十百千零〇两\d]{1,8}|\d{1,3}(?:\.\d{1,3}){1,4})\s?条"
    r"(?:第?\s?[一二三四五六七八九十\d]{1,3}\s?款)?"
    r"(?:第?\s?[（(]?(?P<item>[一二三四五六七八九十\d]{1,3})[)）]?\s?项)?"
    r"|第?\s?(?P<dotted>\d{1,3}(?:\.\d{1,3}){1,4})\s?(?:条|款|项)"
)
_HAN_ANNEX = re.compile(r"附件\s?(?P<label>[一二三四五六七八九十\d]{1,3})(?![\d份个页])")
_ONE = re.compile(_NUMBER)
_JOINED = re.compile(_JOINT)
# "of the 1933 Act", "of the Merger Agreement", "thereof"; not "of this Agreement", "of Exhibit A".
_OUTSIDE = re.compile(
    r"\s{0,3}(?:\([^()]{0,60}\)\s{0,3})?,?\s{0,3}(?:thereof\b|(?i:of|under)\s{1,3}"
    r"(?:(?i:the\s{1,3}(?:code|act|law|laws|regulations?))\b|(?!(?i:this|the\s{1,3}present)\b)"
    r"(?:(?i:the|that|such|its|said)\s{1,3})?"
    r"(?!(?i:Agreement|Contract|Lease|Exhibit|Schedule|Annex|Appendix|Attachment|Addendum|Article"
    r"|Section|Clause|Standard|General|Terms|Part|Chapter|Disclosure)\b)[A-Z\d]))"
)
_LAW_BEFORE = re.compile(
    r"(?:C\.?F\.?R\.?|U\.?S\.?C\.?|\bCode|\bAct|ERISA|\bRegulations?|\bRules?|\bStat(?:utes)?\.?"
    r"|\bLaw),?\s{1,3}$"
)
_HAN_LAW_BEFORE = re.compile(r"(?:》|(?<!本)[法典]|条例|规定|办法|细则|解释|规则)(?:的|之)?\s?$")
_WORD_BEFORE = re.compile(r"(?:paragraph|clause|section|item)s?\s{0,3}$", re.IGNORECASE)
_NEARBY = 5_000  # characters around a reference in which its item is looked for
_MOST_MARKS = 12  # characters of Markdown before a clause's number
_GLUE = re.compile(r"\s?[、，和及与或至到]\s?")


def references(document: Document, clauses: Sequence[Clause]) -> tuple[Reference, ...]:
    """Every cross-reference in order, one for each number of a list ("Sections 3 and 4.1").

    A number that opens its own clause, and what stands in tables, is none. Items that are not
    clauses of their own ("7.2(b)" within the text of 7.2) point at the clause that has them. Pure;
    linear; at most 50,000.
    """
    if not clauses:
        return ()
    finder = _Finder(document.text, clauses)
    some = islice(finder.all(), MOST_REFERENCES)
    found = {(reference.start, reference.end): reference for reference in some}
    return tuple(found[span] for span in sorted(found))


class _Finder:
    """Finds and resolves the references of one document."""

    def __init__(self, text: str, clauses: Sequence[Clause]) -> None:
        self._text = text
        self._clauses = clauses
        self._starts = [clause.start for clause in clauses]
        self._places = Places(clauses)

    def all(self) -> Iterator[Reference]:
        yield from self._worded()
        yield from self._han()
        yield from self._annexes()

    def _worded(self) -> Iterator[Reference]:
        matches = list(_WORDED.finditer(self._text))
        for match, outside in zip(matches, self._outside(matches), strict=True):
            kind = (match["kind"] or "section").lower()
            group = "numbers" if match["numbers"] else "signed"
            for number in _ONE.finditer(self._text, *match.span(group)):
                first = number.start() == match.start(group)
                start = match.start() if first else number.start()
                source = self._source(start)
                if source is not None:
                    target = None if outside else self._worded_target(kind, number, source)
                    yield self._reference(start, number.end(), source, target, outside=outside)

    def _outside(self, matches: list[re.Match[str]]) -> list[bool]:
        """Which references leave the document: "Section 2 or Section 3 of the Act" both do."""
        outside = [self._is_outside(match.start(), match.end()) for match in matches]
        for at in range(len(matches) - 2, -1, -1):
            between = (matches[at].end(), matches[at + 1].start())
            if outside[at + 1] and _JOINED.fullmatch(self._text, *between):
                outside[at] = True
        return outside

    def _is_outside(self, start: int, end: int) -> bool:
        if _LAW_BEFORE.search(self._text, max(0, start - 24), start):
            return True
        return _OUTSIDE.match(self._text, end) is not None

    def _worded_target(self, kind: str, match: re.Match[str], source: int) -> int | None:
        number, start = match[0], match.start()
        base, *items = (part for part in re.split(r"[\s()]+", number) if part)
        if number.startswith("("):
            return self._item_target([item_key(part) for part in (base, *items)], source, start)
        plain = part_key(base) if "." in base else str(numerals.any_numeral(base) or base)
        bases = [plain, f"any {plain}"]
        if kind.startswith("article"):
            bases = [f"article {plain}", *bases]
        for count in range(len(items), -1, -1):
            tail = "".join(map(item_key, items[:count]))
            target = self._places.find([f"{base}{tail}" for base in bases], source)
            if target is not None:
                return target
        return None

    def _item_target(self, items: list[str], source: int, start: int) -> int | None:
        """An item without its clause's number: nearby, or in the running text of the clause."""
        target = self._places.find_item("".join(items), source)
        if target is not None:
            return target
        clause = self._clauses[source]
        around = (max(clause.start, start - _NEARBY), min(clause.end, start + _NEARBY))
        return source if _is_listed(self._text, items[0], *around) else None

    def _han(self) -> Iterator[Reference]:
        outside_until = -1
        for match in _HAN.finditer(self._text):
            source = self._source(match.start())
            if source is None:
                continue
            goes_on = outside_until >= 0 and _GLUE.fullmatch(
                self._text, outside_until, match.start()
            )
            outside = bool(
                goes_on
                or _HAN_LAW_BEFORE.search(self._text, max(0, match.start() - 6), match.start())
            )
            outside_until = match.end() if outside else -1
            target = None if outside else self._han_target(match, source)
            yield self._reference(*match.span(), source, target, outside=outside)

    def _han_target(self, match: re.Match[str], source: int) -> int | None:
        number = match["dotted"] or match["number"]
        if "." in number:
            keys = [part_key(number)]
        else:
            value = numerals.chinese(number)
            keys = [f"条 {value}", f"{value}", f"any {value}"]
        if match["item"]:
            tail = item_key(match["item"])
            keys = [*(f"{key}{tail}" for key in keys), *keys]
        return self._places.find(keys, source)

    def _annexes(self) -> Iterator[Reference]:
        for pattern in (_ANNEX, _HAN_ANNEX):
            for match in pattern.finditer(self._text):
                source = self._source(match.start())
                if source is None or self._clauses[source].kind == "preamble":
                    continue
                outside = self._is_outside(match.start(), match.end())
                kind = match["kind"] if pattern is _ANNEX else "附件"
                target = None if outside else self._annex_target(kind, match["label"], source)
                yield self._reference(*match.span(), source, target, outside=outside, annex=True)

    def _annex_target(self, kind: str, label: str, source: int) -> int | None:
        if kind == "附件":
            value = numerals.chinese(label)
            return self._places.find([f"附件{label}", f"附件 {value}"], source)
        return self._places.find([f"{kind} {label}".lower()], source)

    def _source(self, start: int) -> int | None:
        """The clause that a reference stands in; None where it is the clause's own number."""
        index = max(0, bisect_right(self._starts, start) - 1)
        clause = self._clauses[index]
        near = start - clause.start <= _MOST_MARKS
        own = clause.number and near and not self._text[clause.start : start].strip("#*_> \t")
        if clause.kind == "table" or own or start >= clause.end:
            return None
        return index

    def _reference(
        self,
        start: int,
        end: int,
        source: int,
        target: int | None,
        *,
        outside: bool,
        annex: bool = False,
    ) -> Reference:
        kind: ReferenceKind = "external" if outside else "annex" if annex else "clause"
        return Reference(start=start, end=end, clause=source, kind=kind, target=target)


def _is_listed(text: str, item: str, start: int, end: int) -> bool:
    """Whether an item stands in running text, other than behind a word that refers to it."""
    return any(
        not _WORD_BEFORE.search(text, max(start, found.start() - 16), found.start())
        for found in re.compile(re.escape(item), re.IGNORECASE).finditer(text, start, end)
    )
