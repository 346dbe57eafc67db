"""Facts as the outside reads them."""

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.event import (
    END_EVENTS,
    Completed,
    DeadLettered,
    Event,
    Fact,
    Progressed,
    Queued,
    Redriven,
    Retrying,
    Started,
    StepSaved,
    WaitStarted,
    WasCancelled,
    rfc3339,
)
from stagepost.task import Wait
from support.tasks import BORN

FACTS: list[tuple[Fact, str, dict[str, object]]] = [
    (Queued("submitted"), "queued", {"reason": "submitted"}),
    (Started(2), "started", {"attempt": 2}),
    (
        Progressed(42, "Reading", "read"),
        "progress",
        {"progress": 42, "message": "Reading", "step": "read"},
    ),
    (
        StepSaved("read", "read#1"),
        "step",
        {"name": "read", "path": "read#1", "state": "saved"},
    ),
    (
        Retrying(1, "BUG", "It broke.", BORN + 5),
        "retrying",
        {
            "attempt": 1,
            "failureKind": "BUG",
            "message": "It broke.",
            "nextAttemptAt": "2023-11-14T22:13:20.005Z",
        },
    ),
    (
        WaitStarted(Wait("timer", "pause", BORN)),
        "waiting",
        {"for": {"kind": "timer", "name": "pause", "until": "2023-11-14T22:13:20.000Z"}},
    ),
    (
        WaitStarted(Wait("signal", "ok")),
        "waiting",
        {"for": {"kind": "signal", "name": "ok", "until": None}},
    ),
    (
        Redriven("ada", {"fromStep": "read"}),
        "redriven",
        {"by": "ada", "resume": {"fromStep": "read"}},
    ),
    (
        Completed(1500, "abc"),
        "completed",
        {"progress": 100, "model": None, "processingMs": 1500, "traceId": "abc"},
    ),
    (DeadLettered("It broke.", "BUG"), "failed", {"message": "It broke.", "failureKind": "BUG"}),
    (WasCancelled("ada", "no need"), "cancelled", {"by": "ada", "reason": "no need"}),
]


@pytest.mark.parametrize(("fact", "kind", "data"), FACTS)
def test_the_wire_form(fact: Fact, kind: str, data: dict[str, object]) -> None:
    assert (fact.kind, fact.data()) == (kind, data)


def test_every_fact_is_listed_above() -> None:
    assert {type(fact) for fact, _, _ in FACTS} == set(Fact.__args__)


def test_three_events_end_a_stream() -> None:
    ends = {kind for _, kind, _ in FACTS if Event(1, kind, {}, BORN).ends}
    assert ends == END_EVENTS == {"completed", "failed", "cancelled"}


@given(st.integers(0, 253_402_300_799_999))
def test_an_instant_survives_its_text(instant: int) -> None:
    text = rfc3339(instant)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text)
    moment = datetime.fromisoformat(text)
    assert moment.tzinfo == UTC
    assert round(moment.timestamp() * 1000) == instant
