"""One clause as it is handed to the analysis: its own text, and the little around it."""

import re
from itertools import pairwise

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from stagepost.tasks.contract_review.clause_label import clause_label
from stagepost.tasks.contract_review.report import NotAnalysed
from stagepost.tasks.contract_review.wording import Wording
from stagepost.tasks.documents.document import Clause, ClauseKind, Document, Language

TEXT_MOST = 200_000  # characters of one clause that are read
_LEAD = 400  # characters of the clause above that give context

_LETTERS = re.compile(r"[A-Za-z\u4e00-\u9fff]")
_OTHER_SCRIPT = re.compile(
    r"[\u0370-\u052f\u0590-\u06ff\u0900-\u0dff\u0e00-\u0e7f\u3040-\u30ff\uac00-\ud7af]"
)
_UNREADABLE = re.compile(r"[\ufffd\ue000-\uf8ff]|\(cid:\d{1,6}\)")


class ClauseItem(BaseModel):
    """A clause with its place in the document; `lead` is what the clauses above it lead in with."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)

    number: str
    path: tuple[str, ...]
    title: str
    kind: ClauseKind
    page: int
    start: int
    text: str
    lead: str = ""

    @property
    def end(self) -> int:
        """Where the clause ends in the document."""
        return self.start + len(self.text)

    @property
    def label(self) -> str:
        """How a person would name the clause."""
        return clause_label(self.path, self.title, self.text)


def clause_items(document: Document, clauses: tuple[Clause, ...]) -> tuple[ClauseItem, ...]:
    """The clauses as independent pieces of work, in the order of the text."""
    above: list[tuple[int, str]] = []
    items = []
    for clause in clauses:
        above = [(level, lead) for level, lead in above if level < clause.level]
        text = document.text[clause.start : clause.end]
        items.append(
            ClauseItem(
                number=clause.number,
                path=clause.path,
                title=clause.title,
                kind=clause.kind,
                page=clause.page,
                start=clause.start,
                text=text,
                lead=" ".join(lead for _, lead in above)[-_LEAD:],
            )
        )
        above.append((clause.level, f"{clause.title} {text[-_LEAD // 2 :]}".strip()))
    return tuple(items)


def unreadable(item: ClauseItem) -> Wording | None:
    """Why no rule can be applied to a clause, or None when the rules can read it."""
    text = item.text.strip()
    letters = len(_LETTERS.findall(text))
    if not text:
        return Wording("The clause is empty.", "本条无内容。")
    if item.kind == "signature":
        return Wording("Signature block: no terms to analyse.", "签署栏，无需分析。")
    if len(item.text) > TEXT_MOST:
        return Wording(
            f"The clause is longer than {TEXT_MOST:,} characters; only its beginning was analysed.",
            f"本条超过{TEXT_MOST:,}个字符，仅分析了开头部分。",
        )
    if len(_UNREADABLE.findall(text)) * 5 > max(1, letters):
        return Wording(
            "The text could not be decoded; check the fonts of the file or send a scan.",
            "文字无法解码，请检查文件字体或改用扫描件。",
        )
    if len(_OTHER_SCRIPT.findall(text)) > letters:
        return Wording(
            "The clause is in a language that the rules do not read (English and Chinese only).",
            "本条使用了规则不支持的语言（仅支持中文和英文）。",
        )
    if letters == 0:
        return Wording("The clause holds no words.", "本条不含文字。")
    return None


def not_analysed(
    document: Document, items: tuple[ClauseItem, ...], language: Language
) -> tuple[NotAnalysed, ...]:
    """Every part of the text to which no rule was applied, clauses and what lies between them."""
    skipped = [
        NotAnalysed(clause=item.label, reason=reason(language))
        for item in items
        if (reason := unreadable(item)) is not None
    ]
    edges = [0, *(edge for item in items for edge in (item.start, item.end)), len(document.text)]
    for start, end in list(pairwise(edges))[::2]:
        if _LETTERS.search(document.text, start, max(start, end)):
            page = document.page_at(start)
            outside = Wording(
                f"{end - start} characters on page {page} belong to no clause.",
                f"第{page}页有{end - start}个字符不属于任何条款。",
            )
            skipped.append(NotAnalysed(clause=f"p. {page}", reason=outside(language)))
    return tuple(skipped)
