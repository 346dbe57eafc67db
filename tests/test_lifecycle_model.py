"""A task's whole life, with causes in any order: what must hold after each of them."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import given, note, settings
from hypothesis import strategies as st

from stagepost import lifecycle
from stagepost.errors import Conflict, IllegalTransition
from stagepost.lifecycle import Blame, Change
from stagepost.outcome import Cancelled, Drained, Failed, Outcome, Succeeded
from stagepost.records import Checkpoint, ProgressNote
from stagepost.retry import LOST_CLAIMS_LIMIT
from stagepost.task import EDGES, CancelRequest, Lease, Payload, Status, Task
from support.tasks import BORN, DAY, HOUR, a_task, going_on, outcomes, succeeded

EVENT_OF = {
    "queued": Status.QUEUED,
    "started": Status.RUNNING,
    "retrying": Status.FAILED,
    "waiting": Status.WAITING,
    "redriven": Status.QUEUED,
    "completed": Status.COMPLETED,
    "failed": Status.DEAD_LETTER,
    "cancelled": Status.CANCELLED,
}
"""The event that announces each status."""

TIMED = {Status.PENDING, Status.FAILED, Status.WAITING}
ENDED = {Status.COMPLETED, Status.DEAD_LETTER, Status.CANCELLED}


class Life:
    """One task; every method is a cause, whether it fits the task's status or not."""

    def __init__(self, task: Task) -> None:
        self.now = BORN
        self.task = task
        self.events: list[str] = []
        self.claims = 0
        self.losses = 0
        self.apply(lifecycle.accepted(task, BORN), new=True)

    def apply(self, change: Change, *, new: bool = False) -> Task:
        before, after = self.task, change.task
        moved = new or before.status is not after.status
        if before.status is not after.status:
            assert after.status in EDGES[before.status] or (
                # Out of attempts is FAILED and DEAD_LETTER at once.
                before.status is Status.RUNNING and after.status is Status.DEAD_LETTER
            )
        assert len(change.facts) <= 1
        assert after.seq == before.seq + len(change.facts)
        if moved and not (new and after.status is Status.PENDING):
            assert EVENT_OF[change.facts[0].kind] is after.status
        assert after.progress >= before.progress
        assert after.fence == before.fence + (after.status is Status.RUNNING and moved)
        assert after.started_at == before.started_at or before.started_at is None
        self.check_deadline(before, after, change)
        self.task = after
        self.events += [fact.kind for fact in change.facts]
        self.check()
        return after

    def check_deadline(self, before: Task, after: Task, change: Change) -> None:
        if change.facts and change.facts[0].kind == "redriven":
            assert after.deadline > self.now
        elif before.status is Status.WAITING and after.status is Status.QUEUED:
            waited = self.now - (before.waiting_since or 0)
            assert after.deadline == before.deadline + (0 if before.hard_deadline else waited)
        else:
            assert after.deadline == before.deadline

    def check(self) -> None:
        task = self.task
        running = task.status is Status.RUNNING
        assert (task.lease is not None, task.worker_id is not None) == (running, running)
        assert (task.pooled_at is not None) == (task.status is Status.QUEUED)
        assert (task.due_at is not None) == (task.status in TIMED)
        assert (task.wait is not None) == (task.status is Status.WAITING)
        assert (task.waiting_since is not None) == (task.status is Status.WAITING)
        assert (task.ended_at is not None) == (task.status in ENDED)
        assert task.cancel is None or task.status in {Status.RUNNING, Status.CANCELLED}
        assert task.attempt <= task.max_attempts
        assert 0 <= task.progress <= 100
        assert (task.progress == 100) == (task.status is Status.COMPLETED)
        if task.status in {Status.FAILED, Status.DEAD_LETTER}:
            assert task.failure_kind is not None
            assert task.error_message
        self.check_history()

    def check_history(self) -> None:
        assert len(self.events) == self.task.seq
        for kind, following in zip(self.events, self.events[1:], strict=False):
            assert kind not in {"completed", "cancelled"}
            assert kind != "failed" or following in {"redriven", "cancelled"}

    def check_losses(self, losses: int) -> None:
        self.losses = losses
        if self.task.status in ENDED:
            return
        assert self.task.lost_claims == losses < LOST_CLAIMS_LIMIT
        assert self.task.suspect == (losses > 0)

    def refused(self, cause: Any, *arguments: Any) -> Any:
        """What the cause answers; None if the task's status forbids it."""
        try:
            return cause(self.task, *arguments)
        except (Conflict, IllegalTransition):
            return None

    # The causes

    def time_passes(self, seconds: int) -> None:
        self.now += seconds * 1000

    def go_on(self, attempts: int) -> None:
        """Whatever the task needs to get on."""
        if self.task.status is Status.QUEUED:
            self.claims += 1
            lease = Lease(self.task.id, self.task.fence + 1, f"lease {self.claims}")
            self.apply(lifecycle.claimed(self.task, lease, "worker", self.now))
            assert self.task.lease == lease
        elif self.task.status in TIMED:
            self.now = max(self.now, self.task.due_at or 0)
            self.schedule()
        elif self.task.status is Status.DEAD_LETTER:
            self.redrive(attempts)

    def settle(self, outcome: Outcome) -> None:
        if self.task.status is not Status.RUNNING:
            return
        before, asked = self.task, self.task.cancel is not None
        after = self.apply(lifecycle.settled(before, outcome, self.now))
        if isinstance(outcome, Succeeded):
            assert after.status is Status.COMPLETED
        elif asked or isinstance(outcome, Cancelled):
            assert after.status is Status.CANCELLED
        elif isinstance(outcome, Failed):
            out_of_luck = outcome.lost and self.losses + 1 >= LOST_CLAIMS_LIMIT
            out_of_tries = before.attempt >= before.max_attempts
            dead = outcome.delay is None or out_of_luck or out_of_tries
            assert after.status is (Status.DEAD_LETTER if dead else Status.FAILED)
        self.check_losses(self.losses_after(outcome))

    def losses_after(self, outcome: Outcome) -> int:
        match outcome:
            case Drained("drained"):
                return self.losses
            case Failed(lost=True):
                return self.losses + 1
            case _:
                return 0

    def save(self, number: int) -> None:
        if self.task.status is Status.RUNNING:
            checkpoint = Checkpoint(f"step {number}", "step", "", Payload("1", 1), 0)
            self.apply(lifecycle.saved(self.task, checkpoint))
            assert self.task.progressed
            self.check_losses(0)

    def note(self, percent: int) -> None:
        if self.task.status is Status.RUNNING:
            self.apply(lifecycle.noted(self.task, ProgressNote(percent, "message", "step")))
            assert self.task.progress <= 99

    def lose(self, blame: Blame) -> None:
        if self.task.status is not Status.RUNNING:
            return
        before = self.task
        after = self.apply(lifecycle.lost(before, blame, self.now))
        if after.status is Status.QUEUED:
            assert before.progressed or blame is Blame.ANOTHER
            assert after.attempt == before.attempt
            self.check_losses(0)
        elif after.failure_kind == "WORKER_LOST":
            self.check_losses(self.losses + 1)

    def schedule(self) -> None:
        change = lifecycle.due(self.task, self.now)
        if change is not None:
            assert self.task.due_at is not None
            assert self.task.due_at <= self.now
            self.apply(change)
        elif self.task.status in TIMED:
            assert self.task.due_at is not None
            assert self.task.due_at > self.now

    def expire_in_the_pool(self) -> None:
        if self.task.status is Status.QUEUED and self.task.deadline <= self.now:
            self.apply(lifecycle.expired(self.task, self.now))
            assert self.task.failure_kind == "DEADLINE"

    def cancel(self, by: str) -> None:
        before = self.task
        change = self.refused(lifecycle.cancelled, CancelRequest(by), self.now)
        if change is not None:
            self.apply(change)
        running = before.status is Status.RUNNING
        assert (self.task.status is Status.RUNNING) == running
        assert (self.task.cancel is not None) or not running
        if before.status not in ENDED | {Status.RUNNING}:
            assert self.task.status is Status.CANCELLED

    def discard(self) -> None:
        change = self.refused(lifecycle.discarded, CancelRequest("ada"), self.now)
        assert (change is not None) == (self.task.status is Status.DEAD_LETTER)
        if change is not None:
            self.apply(change)

    def redrive(self, attempts: int) -> None:
        before = self.task
        change = self.refused(lifecycle.redriven, "ada", "checkpoints", attempts, self.now)
        assert (change is not None) == (before.status is Status.DEAD_LETTER)
        if change is not None:
            self.apply(change)
            self.check_losses(0)
            assert self.task.max_attempts - before.attempt == attempts


@dataclass(frozen=True)
class Cause:
    """A method of Life and its arguments, as a failing example prints it."""

    name: str
    arguments: tuple[Any, ...] = ()

    def __call__(self, life: Life) -> None:
        getattr(life, self.name)(*self.arguments)


attempts = st.integers(1, 4)
tasks = st.builds(
    lambda delay, deadline, attempts: a_task(
        run_at=BORN + delay,
        deadline=BORN + (delay + DAY if deadline is None else deadline),
        hard_deadline=deadline is not None,
        max_attempts=attempts,
    ),
    st.sampled_from([0, 0, HOUR]),
    st.sampled_from([None, None, 1, HOUR, 3 * DAY]),
    attempts,
)


def _cause(apply: Callable[..., None], *arguments: st.SearchStrategy[Any]) -> Any:
    return st.builds(Cause, st.just(apply.__name__), st.tuples(*arguments))


# What ends a life is rare, so that lives are long.
_ends: st.SearchStrategy[Cause] = st.one_of(
    _cause(Life.discard),
    _cause(Life.cancel, st.sampled_from(["ada", "bob"])),
    _cause(Life.settle, st.builds(succeeded)),
    _cause(Life.settle, st.builds(succeeded)),
    _cause(Life.settle, outcomes),
)
causes: st.SearchStrategy[Cause] = st.one_of(
    _cause(Life.go_on, attempts),
    _cause(Life.go_on, attempts),
    _cause(Life.go_on, attempts),
    _cause(Life.settle, going_on),
    _cause(Life.settle, going_on),
    _cause(Life.lose, st.sampled_from([*Blame, Blame.UNKNOWN])),
    _cause(Life.lose, st.sampled_from([*Blame, Blame.UNKNOWN])),
    _cause(Life.save, st.integers(0, 9)),
    _cause(Life.note, st.integers(-10, 200)),
    _cause(Life.time_passes, st.sampled_from([1, 60, 86_400])),
    _cause(Life.schedule) | _cause(Life.expire_in_the_pool),
    st.integers(0, 3).flatmap(lambda number: _ends if number >= 2 else _cause(Life.schedule)),
)
histories = st.lists(causes, min_size=30, max_size=60)


@given(tasks, histories)
def test_what_must_hold_holds_after_every_cause(task: Task, history: list[Cause]) -> None:
    note(f"{task}\n{history}")
    life = Life(task)
    for cause in history:
        cause(life)


def test_the_histories_reach_every_status_and_event() -> None:
    seen: Counter[str] = Counter()

    @settings(settings.get_profile("stagepost"), max_examples=500)
    @given(tasks, histories)
    def live(task: Task, history: list[Cause]) -> None:
        life = Life(task)
        for cause in history:
            cause(life)
            seen[life.task.status] += 1
        seen.update(set(life.events))
        seen["third claim"] += life.task.fence >= 3

    live()
    assert not {status for status in Status if not seen[status]}, seen
    assert not {
        kind for kind in [*EVENT_OF, "step", "progress", "third claim"] if not seen[kind]
    }, seen
