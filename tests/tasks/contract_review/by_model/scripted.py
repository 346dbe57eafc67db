"""Models that answer as a test tells them to."""

from collections.abc import Callable, Sequence
from typing import Any

from stagepost import Reply
from stagepost.tasks.contract_review import Knowledge, analyse_clause, clause_items
from stagepost.tasks.contract_review.by_model.answer import (
    ClauseAnswer,
    FindingAnswer,
    SummaryAnswer,
)
from stagepost.tasks.contract_review.by_model.glossary import glossary
from stagepost.tasks.contract_review.by_model.windows import Window, windows
from stagepost.tasks.documents.document import Clause, Document

Told = ClauseAnswer | SummaryAnswer | Exception
NOTHING = ClauseAnswer(verdict="no-issue", findings=[])
SHORT = SummaryAnswer(summary="The list holds what matters.", actions=[])


class Failed(Exception):
    """A call's failure, with its kind."""

    def __init__(self, kind: str, retry_after: float | None = None) -> None:
        super().__init__(kind)
        self.kind = kind
        self.retry_after = retry_after


class Scripted:
    """Answers each question with what `clause` or `summary` makes of its second message."""

    def __init__(
        self,
        clause: Callable[[str], Told] = lambda _: NOTHING,
        summary: Callable[[str], Told] = lambda _: SHORT,
        models: Sequence[str] = ("best", "fast"),
    ) -> None:
        self._models = models
        self._clause = clause
        self._summary = summary
        self.asked: list[tuple[str, Sequence[Any]]] = []
        self.waits: set[bool] = set()
        """Whether it was asked to wait for what time mends."""

    @property
    def clauses(self) -> list[str]:
        """The questions about clauses, without the first message."""
        return [messages[1]["content"] for model, messages in self.asked if model == "best"]

    async def models(self) -> Sequence[str]:
        return self._models

    async def reply(
        self,
        model: str,
        messages: Sequence[Any],
        *,
        response_model: type[Any],
        max_tokens: int,
        wait: bool,
    ) -> Any:
        assert max_tokens <= 4_000
        self.waits.add(wait)
        self.asked.append((model, messages))
        of_clause = response_model is ClauseAnswer
        told = (self._clause if of_clause else self._summary)(messages[1]["content"])
        if isinstance(told, Exception):
            raise told
        return Reply(told, "main/large")


def said(quote: str, **other: Any) -> FindingAnswer:
    """A finding that can be shown if its quote can."""
    told = {
        "category": "Uncapped Liability",
        "severity": "HIGH",
        "risk": "It may cost all that the customer has.",
        "for_whom": "partyB",
        "law_reference": None,
        "suggestion": "Cap it at the fees of a year.",
        "negotiability": "MEDIUM",
        "confidence": 0.8,
    }
    return FindingAnswer.model_validate({"quote": quote, **told, **other})


def risks(*findings: FindingAnswer) -> ClauseAnswer:
    return ClauseAnswer(verdict="risks", findings=list(findings))


def data_of(question: str) -> str:
    """The fenced part of a question, its lines of code included."""
    code = question.partition("The code is ")[2][:32]
    inside = question.partition(f"{code} BEGIN DATA\n")[2].partition(f"\n{code} END DATA")[0]
    assert inside
    return inside


def clause_of(question: str) -> str:
    """The text of the clause that a question is about."""
    code = question.partition("The code is ")[2][:32]
    return data_of(question).rpartition(f"{code} CLAUSE")[2].partition("\n")[2]


def made(drafted: tuple[Document, tuple[Clause, ...]], frame: Knowledge) -> tuple[Window, ...]:
    """The windows of a contract."""
    document, clauses = drafted
    items = clause_items(document, clauses)
    found = [analyse_clause(item, frame) for item in items]
    return windows(items, found, glossary(document, clauses))
