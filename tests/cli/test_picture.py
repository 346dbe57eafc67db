"""What a watcher reads: the failure and the time of the next attempt, not the step before it."""

from typing import Any

import pytest

from stagepost.cli.picture import Picture
from stagepost.cli.waits import moment, waiting_text
from stagepost.remote import News

SOON = "2026-01-31T08:00:05.123Z"
STATUS = {
    "status": "RUNNING",
    "progress": 40,
    "currentStep": "wait",
    "waitingFor": None,
    "errorMessage": None,
    "failureKind": None,
    "attempt": 1,
    "nextAttemptAt": None,
}


def told(event: str, **data: Any) -> str:
    return Picture().after(News(event, data)).message


def wait(kind: str, name: str, until: str | None = None) -> dict[str, Any]:
    return {"kind": kind, "name": name, "until": until}


def test_a_failed_attempt_shows_its_failure_and_when_it_goes_on() -> None:
    sentence = "attempt 1 failed: It did not answer; again at 2026-01-31 08:00:05 UTC"
    failed = {
        **STATUS,
        "status": "FAILED",
        "errorMessage": "It did not answer.",
        "failureKind": "BUG",
        "nextAttemptAt": SOON,
        "waitingFor": wait("retry", "BUG", SOON),
    }
    assert told("status", **failed) == sentence
    event = {"attempt": 1, "failureKind": "BUG", "message": "It did not answer."}
    assert told("retrying", **event, nextAttemptAt=SOON) == sentence


def test_a_wait_comes_before_the_step_that_was_last() -> None:
    limit = wait("limit", "The model is busy; wait.", SOON)
    sentence = "waits for a limit: The model is busy; wait; goes on at 2026-01-31 08:00:05 UTC"
    assert told("status", **{**STATUS, "status": "WAITING", "waitingFor": limit}) == sentence
    assert told("waiting", **{"for": limit}) == sentence
    assert told("status", **STATUS) == "wait"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (wait("timer", "runAt", SOON), "starts at 2026-01-31 08:00:05 UTC"),
        (wait("worker", "limited"), "no worker takes it: none serves limited"),
        (wait("retry", "BUG", SOON), "the next attempt is at 2026-01-31 08:00:05 UTC"),
        (wait("signal", "approval"), "waits for the signal approval"),
        (wait("child", "x"), "waits for its task x"),
        (wait("paused", "batch"), "batch is paused"),
        (None, ""),
    ],
)
def test_each_wait_is_a_sentence(given: Any, text: str) -> None:
    assert waiting_text(given) == text


def test_a_cancel_says_who_and_why() -> None:
    assert told("cancelled", by="ann", reason="too late") == "cancelled by ann: too late"
    assert told("cancelled", by="ann", reason="") == "cancelled by ann"
    assert moment(None) == ""
