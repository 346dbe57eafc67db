"""What of a model's answer is let into the review.

Every finding is looked at by itself: a quote that is not in the clause, a category or severity that
we don't have, or no words at all, and it is left out and counted. An article that was not given is
no citation. An answer of which nothing is left, though it claimed risks, is no answer; nor is "no
issue" where the clause itself asks for that.
"""

import math
from typing import Final, Literal, NamedTuple, cast, get_args

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from stagepost.tasks.contract_review.by_model.answer import (
    NAMES,
    NO_ISSUE,
    ClauseAnswer,
    FindingAnswer,
)
from stagepost.tasks.contract_review.by_model.clean import Cleaned, cleaned
from stagepost.tasks.contract_review.by_model.grounds import Grounds
from stagepost.tasks.contract_review.by_model.locate import locate
from stagepost.tasks.contract_review.by_model.planted import addresses_software
from stagepost.tasks.contract_review.by_model.prompt import FINDINGS_MOST
from stagepost.tasks.contract_review.by_model.trouble import ADDRESSED, UNPROVED
from stagepost.tasks.contract_review.by_model.windows import Window
from stagepost.tasks.contract_review.category_words import word
from stagepost.tasks.contract_review.frame import Knowledge
from stagepost.tasks.contract_review.report import SEVERITIES, Finding, Severity, Side

RISK_MOST: Final = 400  # characters
SUGGESTION_MOST: Final = 600
_LOOKED_AT = 200  # findings of one answer; an answer is bounded by its tokens as well


class Refused(BaseModel):
    """How many findings were left out, and why; `uncited` ones lost their citation only."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)

    unproved: int = 0
    unknown: int = 0
    surplus: int = 0
    uncited: int = 0

    def __add__(self, other: "Refused") -> "Refused":
        return Refused(
            unproved=self.unproved + other.unproved,
            unknown=self.unknown + other.unknown,
            surplus=self.surplus + other.surplus,
            uncited=self.uncited + other.uncited,
        )


class Reading(BaseModel):
    """What came of one window: findings, or the kind of failure.

    `addressed`: the window speaks to the software that reads it.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)

    findings: tuple[Finding, ...] = ()
    model: str = ""
    failure: str | None = None
    refused: Refused = Refused()
    addressed: bool = False


class _Place(NamedTuple):
    """What a finding is judged by."""

    window: Window
    given: Grounds
    frame: Knowledge
    model: str


def screened(
    answer: ClauseAnswer, window: Window, given: Grounds, frame: Knowledge, model: str
) -> Reading:
    """The findings of an answer that can be shown; `model` is who gave it."""
    place = _Place(window, given, frame, model)
    kept: list[Finding] = []
    unproved = unknown = 0
    for one in answer.findings[:_LOOKED_AT]:
        finding = _finding(one, place)
        if isinstance(finding, str):
            unproved += finding == "unproved"
            unknown += finding == "unknown"
        elif not any(_same(finding, other) for other in kept):
            kept.append(finding)
    shown = tuple(kept[:FINDINGS_MOST])
    addressed = addresses_software(window.item.text)
    surplus = len(kept) - len(shown) + max(0, len(answer.findings) - _LOOKED_AT)
    return Reading(
        findings=shown,
        model=model,
        failure=None if shown else _without_findings(answer, addressed=addressed),
        addressed=addressed,
        refused=Refused(
            unproved=unproved,
            unknown=unknown,
            surplus=surplus,
            uncited=sum(one.citation is not None for one in shown),
        ),
    )


def _without_findings(answer: ClauseAnswer, *, addressed: bool) -> str | None:
    """What is wrong with an answer that leaves nothing to show; None if the clause is in order."""
    if answer.verdict != NO_ISSUE or answer.findings:
        return UNPROVED
    return ADDRESSED if addressed else None


def _finding(answer: FindingAnswer, place: _Place) -> Finding | Literal["unproved", "unknown"]:
    """A finding that can be shown, else why not."""
    window, given, frame, model = place
    category, severity = _category(answer.category), answer.severity.strip().upper()
    if category is None or severity not in SEVERITIES:
        return "unknown"
    span = locate(answer.quote, window.item.text)
    if span is None:
        return "unproved"
    risk = cleaned(answer.risk, RISK_MOST, frame.language)
    suggestion = cleaned(answer.suggestion, SUGGESTION_MOST, frame.language)
    if not risk.text or not suggestion.text:
        return "unknown"
    item = window.item
    article = given.articles.get((answer.law_reference or "").strip().upper())
    start, end = item.start + span[0], item.start + span[1]
    return Finding(
        id=f"model-{_slug(category)}-{start}-{end}",
        rule_id="",
        clause=window.label,
        clause_path=item.path,
        page=item.page,
        start=start,
        end=end,
        quote=item.text[slice(*span)],
        category=category,
        severity=severity,
        risk=risk.text,
        for_whom=_side(answer.for_whom),
        law_reference=article.cited(frame.language) if article else None,
        suggestion=suggestion.text,
        negotiability=_level(answer.negotiability),
        confidence=_share(answer.confidence),
        origin="model",
        model=model,
        citation=None if article or not _cites(answer, risk, suggestion) else "unverified",
    )


def _cites(answer: FindingAnswer, *texts: Cleaned) -> bool:
    named = (answer.law_reference or "").strip().lower() not in {"", "null", "none", "n/a"}
    return named or any(text.cited for text in texts)


def _category(named: str) -> str | None:
    """The category that is meant, by our name for it or by what a person calls it."""
    return _CATEGORIES.get(" ".join(named.split()).casefold())


_CATEGORIES: Final = {
    told.casefold(): name for name in NAMES for told in (word(name, "zh"), word(name, "en"), name)
}


def _side(named: str) -> Side:
    return cast("Side", named) if named in get_args(Side) else "neutral"


def _level(named: str) -> Severity:
    level = named.strip().upper()
    return level if level in SEVERITIES else "MEDIUM"


def _share(number: float) -> float:
    """A number between 0 and 1; what is none is 0, and a percentage is read as one."""
    if not math.isfinite(number) or number < 0:
        return 0.0
    return round(min(number if number <= 1 else number / 100, 1.0), 2)


def _slug(category: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in category.lower())


def _same(one: Finding, other: Finding) -> bool:
    return one.category == other.category and one.start < other.end and other.start < one.end
