"""A store in memory, as plain as can be: lists, dicts and the functions of `lifecycle`.

What a real store answers and keeps is compared with this after every verb.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from stagepost import lifecycle
from stagepost.choice import LaneTurns
from stagepost.errors import Conflict, LeaseLost, NotFound, StagepostError
from stagepost.event import Event
from stagepost.lifecycle import Blame, Change
from stagepost.mass import Kind, MassChange
from stagepost.outcome import Failed, Outcome, Succeeded
from stagepost.records import (
    Checkpoint,
    Demand,
    FailureRecord,
    NewTask,
    ProgressNote,
    Resume,
    SavedStep,
)
from stagepost.task import FINAL, SETTLED, CancelRequest, Lease, Payload, Status, Task

_TRIES = 32
"""Looks of one claim behind tasks that are past their deadline."""


@dataclass
class Model:
    """Everything that the port lets one see."""

    tasks: dict[str, Task] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    results: dict[str, Payload] = field(default_factory=dict)
    events: dict[str, list[Event]] = field(default_factory=dict)
    steps: dict[str, list[SavedStep]] = field(default_factory=dict)
    failures: dict[str, list[FailureRecord]] = field(default_factory=dict)
    beats: dict[str, int] = field(default_factory=dict)
    told: Counter[str] = field(default_factory=Counter)
    """How many events each task has had, also those that were taken away."""
    gone: set[str] = field(default_factory=set)
    now: int = 0

    def pool(self, lane: str) -> list[Task]:
        """A lane's tasks that can be claimed, in their order."""
        queued = [
            task
            for task in self.tasks.values()
            if task.status is Status.QUEUED and task.lane == lane
        ]
        return sorted(
            queued, key=lambda task: ((task.pooled_at or 0) - task.priority * 1000, task.id)
        )

    def position(self, task_id: str) -> int | None:
        """A task's place in its lane, from 1."""
        task = self.tasks[task_id]
        pool = self.pool(task.lane)
        return pool.index(task) + 1 if task in pool else None

    def submit(self, new: NewTask) -> Status:
        """Accept a task."""
        run_at = new.run_at if new.run_at is not None else self.now + round(new.delay * 1000)
        run_at = max(run_at, self.now)
        ttl = round(new.ttl * 1000)
        task = Task(
            id=new.id, tenant=new.tenant, user=new.user, type=new.type, lane=new.lane,
            status=Status.PENDING, created_at=self.now, run_at=run_at, ttl=ttl,
            deadline=run_at + ttl if new.deadline is None else new.deadline,
            hard_deadline=new.deadline is not None, max_attempts=new.max_attempts,
            priority=new.priority, trace_id=new.trace_id,
        )  # fmt: skip
        self.inputs[new.id] = new.input
        self._apply(lifecycle.accepted(task, self.now))
        return self.tasks[new.id].status

    def claim(self, demand: Demand, turns: LaneTurns) -> list[str]:
        """The ids that a claim must answer, in their order; see `claimed`."""
        for _ in range(_TRIES):
            offered = {
                lane: [task for task in self.pool(lane) if task.type in demand.types]
                for lane in turns.lanes
            }
            cut = {lane: tasks[: demand.slots] for lane, tasks in offered.items()}
            chosen = turns.choose(cut, demand.slots)
            for task in chosen:
                if task.deadline <= self.now:
                    self._apply(lifecycle.expired(task, self.now))
            in_time = [task.id for task in chosen if task.deadline > self.now]
            if in_time or not chosen:
                return in_time
        return []

    def claimed(self, lease: Lease, worker_id: str) -> None:
        """A task was claimed under this lease."""
        task = self.tasks[lease.task_id]
        self._apply(lifecycle.claimed(task, lease, worker_id, self.now))

    def owned(self, lease: Lease) -> Task:
        """The task that a lease opens. Raises LeaseLost."""
        task = self.tasks.get(lease.task_id)
        if task is None or task.status is not Status.RUNNING or task.lease != lease:
            raise LeaseLost("model")
        return task

    def progress(self, lease: Lease, note: ProgressNote) -> None:
        """Note how far a task is."""
        self._apply(lifecycle.noted(self.owned(lease), note))

    def checkpoint(self, lease: Lease, step: Checkpoint, note: ProgressNote | None) -> None:
        """Save a step."""
        task = self.owned(lease)
        saved = self.steps.setdefault(task.id, [])
        if any(other.path == step.path for other in saved):
            raise Conflict("model")
        if note is not None:
            self.progress(lease, note)
        self._apply(lifecycle.saved(self.tasks[task.id], step))
        began, ended = self.now - step.took, self.now
        kept = SavedStep(*step[:4], task.attempt, task.fence, began, ended)
        saved.append(kept)

    def settle(self, lease: Lease, outcome: Outcome, note: ProgressNote | None) -> None:
        """End a claim."""
        self.owned(lease)
        if note is not None:
            self.progress(lease, note)
        self._settle(self.tasks[lease.task_id], outcome)

    def _settle(self, task: Task, outcome: Outcome) -> None:
        self._apply(lifecycle.settled(task, outcome, self.now))
        if isinstance(outcome, Succeeded):
            self.results[task.id] = outcome.result
        if isinstance(outcome, Failed):
            failure = outcome.failure
            record = FailureRecord(
                task.attempt, task.fence, failure.kind, failure.message, failure.trace, self.now
            )
            self.failures.setdefault(task.id, []).append(record)

    def cancel(self, task_id: str, request: CancelRequest) -> None:
        """Cancel."""
        self._change(task_id, lambda task: lifecycle.cancelled(task, request, self.now))

    def discard(self, task_id: str, request: CancelRequest) -> None:
        """Give up a dead letter."""
        self._change(task_id, lambda task: lifecycle.discarded(task, request, self.now))

    def redrive(self, task_id: str, by: str, resume: Resume, attempts: int) -> None:
        """Send a dead letter back."""
        how: str | Mapping[str, str] = "checkpoints"
        steps = self.steps.get(task_id, [])
        left = len(steps)
        if resume.fresh or resume.input is not None:
            how, left = "fresh", 0
        elif resume.from_step is not None:
            how = {"fromStep": resume.from_step}
            left = next(
                (n for n, step in enumerate(steps) if resume.from_step in {step.path, step.name}),
                -1,
            )
        change = lifecycle.redriven(self.tasks[task_id], by, how, attempts, self.now)
        if left < 0:
            raise NotFound("model")
        self._apply(change)
        del steps[left:]
        if resume.input is not None:
            self.inputs[task_id] = resume.input

    def prune(self, older_than: float) -> int:
        """Take what ended so long ago."""
        old = [task_id for task_id, task in self.tasks.items() if self._is_old(task, older_than)]
        for task_id in old:
            self.take(task_id)
        return len(old)

    def prune_events(self, older_than: float) -> int:
        """Take the events of what ended so long ago, but for the end."""
        taken = 0
        for task_id, events in self.events.items():
            task = self.tasks.get(task_id)
            if task is not None and self._is_old(task, older_than):
                taken += len(events) - 1
                del events[:-1]
        return taken

    def _is_old(self, task: Task, older_than: float) -> bool:
        horizon = self.now - round(older_than * 1000)
        return task.status in FINAL and (task.ended_at or 0) <= horizon

    def erase(self, task_id: str) -> None:
        """Take one task."""
        if self.tasks[task_id].status not in SETTLED:
            raise Conflict("model")
        self.take(task_id)

    def take(self, task_id: str) -> None:
        """Nothing of a task is left."""
        del self.tasks[task_id]
        for kept in (self.inputs, self.results, self.events, self.steps, self.failures):
            kept.pop(task_id, None)
        self.gone.add(task_id)

    def change_many(self, change: MassChange) -> int:
        """Do to all of them what is done to one."""
        before = {task_id: task for task_id, task in self.tasks.items()
                  if task.status in change.where.statuses}  # fmt: skip
        request = CancelRequest(change.by, change.reason)
        for task_id, task in before.items():
            if change.kind is Kind.REDRIVE:
                self.redrive(task_id, change.by, change.resume, change.attempts[task.type])
            elif change.kind is Kind.DISCARD:
                self.discard(task_id, request)
            else:
                self.cancel(task_id, request)
        return sum(self.tasks[task_id] != task for task_id, task in before.items())

    def release_due(self) -> int:
        """Do what is due."""
        return self._each(lambda task: lifecycle.due(task, self.now))

    def expire_queued(self) -> int:
        """Dead-letter what is pooled past its deadline."""
        return self._each(
            lambda task: (
                lifecycle.expired(task, self.now)
                if task.status is Status.QUEUED and task.deadline <= self.now
                else None
            )
        )

    def rescue(self, older_than: float) -> tuple[set[str], set[str]]:
        """Give back the claims of silent workers."""
        silent = {
            worker
            for worker, beat_at in self.beats.items()
            if beat_at <= self.now - round(older_than * 1000)
        }
        self.beats = {worker: at for worker, at in self.beats.items() if worker not in silent}
        held = [
            task
            for task in self.tasks.values()
            if task.worker_id is not None and task.worker_id not in self.beats
        ]
        for task in held:
            self._settle(task, lifecycle.loss(task, Blame.UNKNOWN, self.now))
        return silent, {task.id for task in held}

    def _each(self, change: Callable[[Task], Change | None]) -> int:
        changes = [found for task in self.tasks.values() if (found := change(task)) is not None]
        for found in changes:
            self._apply(found)
        return len(changes)

    def _change(self, task_id: str, change: Callable[[Task], Change | None]) -> None:
        found = change(self.tasks[task_id])
        if found is not None:
            self._apply(found)

    def _apply(self, change: Change) -> None:
        task = change.task
        self.tasks[task.id] = replace(task)
        events = self.events.setdefault(task.id, [])
        self.told[task.id] += len(change.facts)
        for fact in change.facts:
            events.append(Event(len(events) + 1, fact.kind, fact.data(), self.now))


def answer_of(verb: Callable[[], object]) -> type[StagepostError] | None:
    """How a verb of the model was refused, or None."""
    try:
        verb()
    except StagepostError as refusal:
        return type(refusal)
    return None


def kinds_of(answers: Sequence[object]) -> list[type[BaseException] | None]:
    """The same for what calls of a real store gave."""
    return [type(answer) if isinstance(answer, BaseException) else None for answer in answers]
