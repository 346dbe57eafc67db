"""Each change of a task, one by one."""

import math
from dataclasses import replace

import pytest

from stagepost import lifecycle
from stagepost.errors import Conflict, IllegalTransition
from stagepost.event import Fact, rfc3339
from stagepost.failure import FailureKind
from stagepost.lifecycle import Blame, Change
from stagepost.outcome import Cancelled, Drained, Outcome
from stagepost.records import Checkpoint, ProgressNote
from stagepost.task import CancelRequest, Lease, Payload, Status, Task, Wait
from support.tasks import BORN, DAY, HOUR, MINUTE, SECOND, a_task, failed, succeeded, waiting

ASKED = CancelRequest("ada", "no need")
NOW = BORN + MINUTE


def queued(**changes: object) -> Task:
    return a_task(**{"status": Status.QUEUED, "pooled_at": BORN, "seq": 1, **changes})


def running(**changes: object) -> Task:
    claim = {"fence": 1, "lease_id": "lease", "worker_id": "worker", "started_at": BORN, "seq": 2}
    return a_task(**{"status": Status.RUNNING, **claim, **changes})


def dead(**changes: object) -> Task:
    values = {"status": Status.DEAD_LETTER, "ended_at": BORN, "seq": 5, "failure_kind": "BUG"}
    return a_task(**{**values, "error_message": "It broke.", "attempt": 4, **changes})


def kinds(change: Change) -> list[str]:
    return [fact.kind for fact in change.facts]


def only(change: Change) -> Fact:
    (fact,) = change.facts
    return fact


def test_a_task_without_a_run_time_is_pooled_at_once() -> None:
    change = lifecycle.accepted(a_task(), BORN)
    assert (change.task.status, change.task.pooled_at) == (Status.QUEUED, BORN)
    assert (change.task.due_at, change.task.seq) == (None, 1)
    assert only(change).data() == {"reason": "submitted"}


def test_a_task_for_later_waits_without_an_event() -> None:
    change = lifecycle.accepted(a_task(run_at=BORN + HOUR), BORN)
    assert (change.task.status, change.task.due_at) == (Status.PENDING, BORN + HOUR)
    assert (change.task.seq, change.facts) == (0, ())


def test_a_task_whose_deadline_comes_before_its_run_time_is_due_then() -> None:
    late = a_task(run_at=BORN + HOUR, deadline=BORN + MINUTE, hard_deadline=True)
    assert lifecycle.accepted(late, BORN).task.due_at == BORN + MINUTE


def test_a_claim() -> None:
    change = lifecycle.claimed(queued(), Lease("id", 1, "lease"), "worker", NOW)
    task = change.task
    assert (task.status, task.pooled_at, task.started_at) == (Status.RUNNING, None, NOW)
    assert (task.fence, task.lease_id, task.worker_id) == (1, "lease", "worker")
    assert only(change).data() == {"attempt": 1}


def test_a_second_claim_keeps_the_first_start() -> None:
    task = queued(started_at=BORN, attempt=2)
    change = lifecycle.claimed(task, Lease("id", 2, "other"), "worker", NOW)
    assert (change.task.started_at, only(change).data()) == (BORN, {"attempt": 2})


def test_the_first_claim_stamps_the_version_and_later_ones_leave_it() -> None:
    first = lifecycle.claimed(queued(), Lease("id", 1, "lease"), "worker", NOW, 3).task
    assert first.code_version == 3
    again = lifecycle.settled(first, Drained(), NOW).task
    assert lifecycle.claimed(again, Lease("id", 2, "x"), "worker", NOW, 4).task.code_version == 3


def test_a_fresh_redrive_takes_the_stamp_away() -> None:
    task = dead(code_version=3)
    assert lifecycle.redriven(task, "ada", "fresh", 3, NOW).task.code_version == 0
    for resume in ("checkpoints", {"fromStep": "read"}):
        assert lifecycle.redriven(task, "ada", resume, 3, NOW).task.code_version == 3


def test_success() -> None:
    change = lifecycle.settled(running(trace_id="t", cancel=ASKED), succeeded(), NOW)
    task = change.task
    assert (task.status, task.progress, task.ended_at) == (Status.COMPLETED, 100, NOW)
    assert (task.lease, task.worker_id, task.cancel) == (None, None, None)
    assert only(change).data()["processingMs"] == MINUTE


def test_success_clears_what_failed_before() -> None:
    task = running(attempt=2, failure_kind="BUG", error_message="It broke.")
    done = lifecycle.settled(task, succeeded(), NOW).task
    assert (done.failure_kind, done.error_message, done.attempt) == (None, None, 2)


def test_a_failed_attempt_is_due_again() -> None:
    change = lifecycle.settled(running(waits=3), failed(5.0), NOW)
    task = change.task
    assert (task.status, task.due_at, task.attempt) == (Status.FAILED, NOW + 5 * SECOND, 1)
    assert (task.failure_kind, task.error_message) == ("SERVER_ERROR", "It broke.")
    assert (task.lease, task.worker_id, task.waits, task.lost_claims) == (None, None, 0, 0)
    assert only(change).data()["nextAttemptAt"] == rfc3339(NOW + 5 * SECOND)


def test_a_failed_attempt_is_due_no_later_than_the_deadline() -> None:
    change = lifecycle.settled(running(deadline=NOW + SECOND), failed(5.0), NOW)
    assert change.task.due_at == NOW + SECOND


@pytest.mark.parametrize(("attempt", "delay"), [(1, None), (4, None), (4, 5.0), (7, 5.0)], ids=str)
def test_the_last_failure_is_one_event_and_a_dead_letter(attempt: int, delay: float | None) -> None:
    change = lifecycle.settled(running(attempt=attempt), failed(delay), NOW)
    task = change.task
    assert (task.status, task.ended_at, task.due_at) == (Status.DEAD_LETTER, NOW, None)
    assert (task.failure_kind, task.attempt) == ("SERVER_ERROR", attempt)
    assert only(change).data() == {"message": "It broke.", "failureKind": "SERVER_ERROR"}


def test_a_wait_spends_no_attempt() -> None:
    change = lifecycle.settled(running(lost_claims=2), waiting(30.0), NOW)
    task = change.task
    assert (task.status, task.attempt, task.waits) == (Status.WAITING, 1, 1)
    assert (task.due_at, task.waiting_since) == (NOW + 30 * SECOND, NOW)
    assert task.wait == Wait("limit", "pause", NOW + 30 * SECOND)
    assert (task.lease, task.lost_claims) == (None, 0)
    assert kinds(change) == ["waiting"]


def test_a_wait_ends_at_an_explicit_deadline_but_not_at_a_default_one() -> None:
    soon = {"deadline": NOW + SECOND}
    hard = lifecycle.settled(running(**soon, hard_deadline=True), waiting(30.0), NOW)
    soft = lifecycle.settled(running(**soon), waiting(30.0), NOW)
    assert hard.task.due_at == NOW + SECOND
    assert soft.task.due_at == NOW + 30 * SECOND


@pytest.mark.parametrize("delay", [-5.0, math.nan, -math.inf, 0.0])
def test_a_delay_that_is_no_time_is_none(delay: float) -> None:
    assert lifecycle.settled(running(), waiting(delay), NOW).task.due_at == NOW


@pytest.mark.parametrize("delay", [math.inf, 1e300])
def test_an_endless_delay_can_still_be_written_down(delay: float) -> None:
    due_at = lifecycle.settled(running(), waiting(delay), NOW).task.due_at
    assert due_at is not None
    assert rfc3339(due_at).startswith("2033")


def test_a_drain_gives_the_task_back_as_it_was() -> None:
    change = lifecycle.settled(running(attempt=2, lost_claims=1), Drained(), NOW)
    task = change.task
    assert (task.status, task.pooled_at, task.attempt) == (Status.QUEUED, NOW, 2)
    assert (task.lease, task.lost_claims) == (None, 1)
    assert only(change).data() == {"reason": "drained"}


def test_cancel_once_asked_is_how_a_claim_ends() -> None:
    task = running(cancel=ASKED)
    ends: list[Outcome] = [
        failed(5.0), failed(None), waiting(), Drained(), Cancelled(CancelRequest("bob")),
    ]  # fmt: skip
    for outcome in ends:
        change = lifecycle.settled(task, outcome, NOW)
        assert change.task.status is Status.CANCELLED
        assert only(change).data() == {"by": "ada", "reason": "no need"}


def test_a_handler_may_be_cancelled_by_its_executor() -> None:
    change = lifecycle.settled(running(), Cancelled(ASKED), NOW)
    assert (change.task.status, change.task.cancel) == (Status.CANCELLED, ASKED)


@pytest.mark.parametrize(
    ("before", "percent", "after"), [(10, 50, 50), (50, 10, 50), (0, 100, 99), (0, -3, 0)]
)
def test_progress_never_falls_and_is_whole_only_at_the_end(
    before: int, percent: int, after: int
) -> None:
    change = lifecycle.noted(running(progress=before), ProgressNote(percent, "Reading", "read"))
    assert change.task.progress == after
    assert only(change).data() == {"progress": after, "message": "Reading", "step": "read"}


@pytest.mark.parametrize(
    ("message", "step", "shown"),
    [
        ("Reading", "read", "Reading"),
        ("", "read", "read"),
        ("", None, "before"),
        ("", "", "before"),
    ],
)
def test_what_stands_beside_the_bar(message: str, step: str | None, shown: str) -> None:
    change = lifecycle.noted(running(step="before"), ProgressNote(1, message, step))
    assert change.task.step == shown


def test_a_checkpoint_clears_the_suspicion() -> None:
    checkpoint = Checkpoint("read#1", "read", "hash", Payload("1", 1), 5)
    change = lifecycle.saved(running(fence=3, lost_claims=2, waits=4), checkpoint)
    task = change.task
    assert (task.saved_steps, task.saved_fence, task.lost_claims, task.waits) == (1, 3, 0, 0)
    assert only(change).data() == {"name": "read", "path": "read#1", "state": "saved"}


def test_a_lost_claim_with_progress_spends_nothing() -> None:
    change = lifecycle.lost(running(saved_fence=1), Blame.UNKNOWN, NOW)
    assert (change.task.status, change.task.attempt, change.task.lost_claims) == (
        Status.QUEUED,
        1,
        0,
    )
    assert only(change).data() == {"reason": "rescued"}


def test_a_neighbour_of_the_culprit_spends_nothing() -> None:
    change = lifecycle.lost(running(lost_claims=1), Blame.ANOTHER, NOW)
    assert (change.task.status, change.task.lost_claims) == (Status.QUEUED, 0)


def test_a_lost_claim_without_progress_is_retried_after_1_5_and_then_never() -> None:
    task = running()
    for losses, delay in enumerate((1, 5), 1):
        change = lifecycle.lost(task, Blame.UNKNOWN, NOW)
        assert change.task.due_at == NOW + delay * SECOND
        assert (change.task.lost_claims, change.task.suspect) == (losses, True)
        assert change.task.failure_kind == FailureKind.WORKER_LOST
        task = running(lost_claims=losses, attempt=losses + 1)
    change = lifecycle.lost(task, Blame.UNKNOWN, NOW)
    assert (change.task.status, kinds(change)) == (Status.DEAD_LETTER, ["failed"])


def test_a_lost_claim_counts_as_an_attempt() -> None:
    change = lifecycle.lost(running(max_attempts=1), Blame.UNKNOWN, NOW)
    assert change.task.status is Status.DEAD_LETTER


def test_an_orderly_failure_ends_the_row_of_losses() -> None:
    assert lifecycle.settled(running(lost_claims=2), failed(1.0), NOW).task.lost_claims == 0


def test_a_lost_claim_that_was_to_be_cancelled_is() -> None:
    change = lifecycle.lost(running(cancel=ASKED, deadline=BORN), Blame.UNKNOWN, NOW)
    assert change.task.status is Status.CANCELLED


def test_a_lost_claim_past_its_deadline_is_not_tried_again() -> None:
    for task in (running(deadline=NOW), running(deadline=NOW, saved_fence=1)):
        change = lifecycle.lost(task, Blame.UNKNOWN, NOW)
        assert change.task.status is Status.DEAD_LETTER
        assert change.task.failure_kind == FailureKind.DEADLINE


def test_nothing_is_done_before_its_time() -> None:
    pending = a_task(due_at=NOW + 1, run_at=NOW + 1)
    assert lifecycle.due(pending, NOW) is None
    assert lifecycle.due(queued(), NOW) is None
    assert lifecycle.due(running(due_at=NOW), NOW) is None


def test_a_run_time_comes() -> None:
    change = lifecycle.due(a_task(due_at=NOW, run_at=NOW), NOW)
    assert change is not None
    assert (change.task.status, change.task.due_at, change.task.seq) == (Status.QUEUED, None, 1)
    assert only(change).data() == {"reason": "due"}


def test_a_retry_comes_and_counts() -> None:
    change = lifecycle.due(a_task(status=Status.FAILED, due_at=NOW, attempt=2), NOW)
    assert change is not None
    assert (change.task.status, change.task.attempt) == (Status.QUEUED, 3)
    assert only(change).data() == {"reason": "retry"}


def test_a_wake_gives_back_the_time_of_the_wait() -> None:
    waits = a_task(
        status=Status.WAITING, due_at=NOW, waiting_since=BORN, wait=Wait("timer", "pause", NOW)
    )
    change = lifecycle.due(waits, NOW + HOUR)
    assert change is not None
    task = change.task
    assert (task.deadline, task.wait, task.waiting_since) == (
        BORN + DAY + MINUTE + HOUR,
        None,
        None,
    )
    assert only(change).data() == {"reason": "woken"}


def test_a_wake_moves_no_explicit_deadline() -> None:
    waits = a_task(status=Status.WAITING, due_at=NOW, waiting_since=BORN, hard_deadline=True)
    change = lifecycle.due(waits, NOW)
    assert change is not None
    assert (change.task.status, change.task.deadline) == (Status.QUEUED, BORN + DAY)


@pytest.mark.parametrize("status", [Status.PENDING, Status.FAILED, Status.WAITING])
def test_a_deadline_passes(status: Status) -> None:
    task = a_task(
        status=status, due_at=NOW, deadline=NOW, hard_deadline=True, waiting_since=BORN,
        wait=Wait("timer", "pause", DAY),
    )  # fmt: skip
    change = lifecycle.due(task, NOW)
    assert change is not None
    assert (change.task.status, change.task.failure_kind) == (Status.DEAD_LETTER, "DEADLINE")
    assert (change.task.wait, change.task.due_at, change.task.ended_at) == (None, None, NOW)


def test_a_pooled_task_expires_and_a_running_one_does_not() -> None:
    change = lifecycle.expired(queued(deadline=NOW), NOW)
    assert (change.task.status, change.task.pooled_at) == (Status.DEAD_LETTER, None)
    with pytest.raises(IllegalTransition):
        lifecycle.expired(running(), NOW)


@pytest.mark.parametrize("status", [Status.PENDING, Status.QUEUED, Status.WAITING, Status.FAILED])
def test_cancel_is_at_once_unless_it_runs(status: Status) -> None:
    change = lifecycle.cancelled(a_task(status=status, pooled_at=BORN, due_at=NOW), ASKED, NOW)
    assert change is not None
    task = change.task
    assert (task.status, task.cancel, task.ended_at) == (Status.CANCELLED, ASKED, NOW)
    assert (task.pooled_at, task.due_at) == (None, None)
    assert only(change).data() == {"by": "ada", "reason": "no need"}


def test_cancel_of_a_running_task_is_asked_once_without_an_event() -> None:
    change = lifecycle.cancelled(running(), ASKED, NOW)
    assert change is not None
    assert (change.task.status, change.task.cancel, change.facts) == (Status.RUNNING, ASKED, ())
    assert lifecycle.cancelled(change.task, CancelRequest("bob"), NOW) is None
    assert lifecycle.cancelled(a_task(status=Status.CANCELLED), ASKED, NOW) is None


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.DEAD_LETTER])
def test_what_has_ended_can_not_be_cancelled(status: Status) -> None:
    with pytest.raises(Conflict, match=status):
        lifecycle.cancelled(a_task(status=status), ASKED, NOW)


@pytest.mark.parametrize("status", set(Status) - {Status.DEAD_LETTER})
def test_only_dead_letters_are_discarded_and_redriven(status: Status) -> None:
    with pytest.raises(Conflict, match="Only a dead letter"):
        lifecycle.discarded(a_task(status=status), ASKED, NOW)
    with pytest.raises(Conflict, match="Only a dead letter"):
        lifecycle.redriven(a_task(status=status), "ada", "checkpoints", 4, NOW)


def test_a_discard() -> None:
    change = lifecycle.discarded(dead(), ASKED, NOW)
    assert (change.task.status, change.task.ended_at) == (Status.CANCELLED, NOW)
    assert kinds(change) == ["cancelled"]


def test_a_redrive_starts_anew_and_keeps_the_history() -> None:
    change = lifecycle.redriven(dead(progress=40, lost_claims=3, waits=2), "ada", "fresh", 3, NOW)
    task = change.task
    assert (task.status, task.pooled_at, task.attempt, task.max_attempts) == (
        Status.QUEUED,
        NOW,
        5,
        7,
    )
    assert (task.lost_claims, task.waits, task.progress) == (0, 0, 40)
    assert (task.failure_kind, task.error_message, task.ended_at) == (None, None, None)
    assert (task.deadline, task.seq) == (NOW + DAY, 6)
    assert only(change).data() == {"by": "ada", "resume": "fresh"}


@pytest.mark.parametrize(
    ("deadline", "kept"), [(NOW + 1, (NOW + 1, True)), (NOW, (NOW + DAY, False))]
)
def test_a_redrive_keeps_an_explicit_deadline_that_is_still_ahead(
    deadline: int, kept: tuple[int, bool]
) -> None:
    task = dead(deadline=deadline, hard_deadline=True)
    change = lifecycle.redriven(task, "ada", "checkpoints", 1, NOW)
    assert (change.task.deadline, change.task.hard_deadline) == kept


def test_the_task_before_a_change_stays_as_it_was() -> None:
    task = running()
    copy = replace(task)
    lifecycle.settled(task, succeeded(), NOW)
    assert task == copy
