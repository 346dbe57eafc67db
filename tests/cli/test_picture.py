"""What a watcher reads: the failure and the time of the next attempt, not the step before it."""

import json
from typing import Any

import pytest

from stagepost.cli.bar import showing
from stagepost.cli.picture import Picture
from stagepost.cli.report import _facts, _shortened, _steps
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
        (
            wait("worker", "lane batch"),
            "waits for a worker that serves lane batch; none is alive",
        ),
        (wait("retry", "BUG", SOON), "the next attempt is at 2026-01-31 08:00:05 UTC"),
        (wait("signal", "approval"), 'waits for the signal "approval"'),
        (wait("signal", "go", SOON), 'waits for the signal "go" until 2026-01-31 08:00:05 UTC'),
        (wait("timer", "sleep", SOON), "sleeps until 2026-01-31 08:00:05 UTC"),
        (wait("timer", "pause", SOON), "sleeps (pause) until 2026-01-31 08:00:05 UTC"),
        (wait("child", "x"), "waits for what it has started: x"),
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


def _step(number: int) -> Any:
    instant = f"2026-01-31T08:00:{number:02d}.000Z"
    told = {"path": f"analyse[{number}]", "name": "analyse", "attempt": 1, "bytes": 1, "cost": 0}
    return {**told, "startedAt": instant, "completedAt": instant}


def test_the_items_of_a_map_are_one_row() -> None:
    rows = [_step(number) for number in range(60)]
    [column, *_] = _steps(rows).columns
    assert [str(cell) for cell in column.cells] == ["analyse[*] (60 of them)"]
    [column, *_] = _steps(rows[:2]).columns
    assert [str(cell) for cell in column.cells] == ["analyse[0]", "analyse[1]"]


def facts(listed: str = "", **changes: Any) -> dict[str, str]:
    """The facts of a task that `show` prints."""
    task: dict[str, Any] = {
        "taskId": "01", "type": "review", "final": False, "lane": "batch",
        "maxAttempts": 4, "tenant": "acme", "user": "ada", "tags": [], "queuePosition": None,
        "estimatedSeconds": 10, "createdAt": SOON, "startedAt": None, "completedAt": None,
        "deadline": SOON, "cancelRequested": False, "traceId": None, "input": {}, "parentId": None,
        "failures": [], "spent": {"calls": 0},
    }  # fmt: skip
    whole: Any = {**STATUS, **task, **changes}
    names, values = _facts(whole, None, listed).columns
    return dict(zip(map(str, names.cells), map(str, values.cells), strict=True))


@pytest.mark.parametrize("kind", ["signal", "worker", "paused", "limit", "child"])
def test_a_wait_whose_end_nobody_knows_is_no_part_of_the_estimate(kind: str) -> None:
    told = facts(waitingFor=wait(kind, "x", SOON))
    assert told["estimate"] == "about 10 s of work after that"
    assert "estimate" not in facts(waitingFor=wait(kind, "x"), estimatedSeconds=None)


@pytest.mark.parametrize("given", [None, wait("timer", "sleep", SOON), wait("retry", "BUG", SOON)])
def test_what_has_a_known_end_is_estimated_whole(given: Any) -> None:
    assert facts(waitingFor=given)["estimate"] == "done in about 10 s"


def test_a_place_that_was_not_counted_is_said_to_be_about_right() -> None:
    assert facts(queuePosition=10_000)["queue position"] == "10000"
    assert facts(queuePosition=12_345)["queue position"] == "about 12345"
    assert "queue position" not in facts()


def test_a_parent_names_its_tasks_and_a_child_its_parent() -> None:
    assert facts("stagepost batches show 01")["its tasks"] == "stagepost batches show 01"
    assert not {"its tasks", "parent"} & facts().keys()
    assert facts(parentId="02")["parent"] == "02"


def test_what_was_said_last_is_not_shown_of_what_is_over() -> None:
    assert facts()["progress"] == "40%  wait"
    assert facts(final=True, status="COMPLETED", progress=100)["progress"] == "100%"


def test_a_watcher_in_lines_says_each_end_once(capsys: pytest.CaptureFixture[str]) -> None:
    dead = {**STATUS, "status": "DEAD_LETTER", "final": True, "currentStep": None, "progress": 0}
    with showing("01") as shown:
        picture = Picture()
        for news in (News("status", dead), News("failed", {"message": "No."})):
            picture = picture.after(news)
            shown.show(picture)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.endswith("0% failed: No.")


def test_a_long_result_is_cut_at_a_line() -> None:
    text = _shortened([{"name": "x" * 70, "number": number} for number in range(60)])
    lines = text.splitlines()
    assert lines[-1].startswith("... (")
    assert (
        lines[-2]
        in json.dumps(
            [{"name": "x" * 70, "number": number} for number in range(60)], indent=2
        ).splitlines()
    )
    assert len(text) < 2_200
