"""Makes documents for these tests out of plain text, with clauses at explicit numbers.

A line that begins with a number (`7.2`, `3.`, `第七条`) opens a clause; `Signed`, `SIGNED` or a
signing line of a Chinese contract opens the signature block.
"""

import hashlib
import re
from itertools import pairwise
from pathlib import Path

from stagepost.tasks.contract_review import (
    ContractType,
    ReviewReport,
    Side,
    analyse_clause,
    assemble,
    clause_items,
    knowledge,
    summarise,
)
from stagepost.tasks.contract_review.frame import Knowledge
from stagepost.tasks.documents.document import Clause, Document, Language, Page

CONTRACTS = Path(__file__).parent / "contracts"

_OPENS = re.compile(
    r"^(?P<number>\d{1,2}(?:\.\d{1,2}){0,3}\.?(?= )|第[一二三四五六七八九十百]{1,4}条"
    r"|\([a-z]\)(?= ))"
    r"|^(?P<signature>Signed|SIGNED|[甲乙]方（(?:盖章|签章|签字)）)"
    r"|^(?P<annex>SCHEDULE [A-Z]|附件[一二三四五六]：)",
    re.MULTILINE,
)


def draft(
    text: str, language: Language = "en", *, warnings: tuple[str, ...] = ()
) -> tuple[Document, tuple[Clause, ...]]:
    """A document of one page and its clauses."""
    document = Document(
        name="contract.txt",
        media_type="text/plain",
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        bytes=len(text.encode()),
        text=text,
        pages=(Page(number=1, start=0, end=len(text)),),
        language=language,
        warnings=warnings,
    )
    return document, _clauses(text)


def _clauses(text: str) -> tuple[Clause, ...]:
    opens = list(_OPENS.finditer(text))
    edges = [0, *(found.start() for found in opens), len(text)]
    clauses = []
    for place, (start, end) in enumerate(pairwise(edges)):
        if not text[start:end].strip():
            continue
        found = opens[place - 1] if place else None
        number = (found["number"] or "").strip(".") if found else ""
        kind = "preamble" if found is None else "clause"
        if found is not None and found["signature"]:
            kind = "signature"
        if found is not None and found["annex"]:
            kind = "annex"
        clauses.append(
            Clause.model_validate(
                {
                    "number": number,
                    "path": (number,) if number else (),
                    "level": number.count(".") + 1,
                    "title": "",
                    "kind": kind,
                    "page": 1,
                    "start": start,
                    "end": start + len(text[start:end].rstrip()),
                }
            )
        )
    return tuple(clauses)


def contract(name: str) -> tuple[Document, tuple[Clause, ...]]:
    """One of the contracts written for these tests."""
    return draft((CONTRACTS / f"{name}.zh.txt").read_text("utf-8"), "zh")


def framed(
    drafted: tuple[Document, tuple[Clause, ...]],
    *,
    side: Side = "neutral",
    contract_type: ContractType | None = None,
    language: Language | None = None,
) -> Knowledge:
    document, clauses = drafted
    return knowledge(document, clauses, side=side, contract_type=contract_type, language=language)


def review(
    drafted: tuple[Document, tuple[Clause, ...]],
    *,
    side: Side = "neutral",
    contract_type: ContractType | None = None,
    language: Language | None = None,
) -> ReviewReport:
    """The whole review, step by step, as the task runs it."""
    document, clauses = drafted
    known = framed(drafted, side=side, contract_type=contract_type, language=language)
    findings = [analyse_clause(item, known) for item in clause_items(document, clauses)]
    return assemble(document, clauses, known, summarise(document, clauses, known, findings))
