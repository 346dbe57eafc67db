"""A store in memory, as plain as can be: lists, dicts and the functions of `lifecycle`.

What a real store answers and keeps is compared with this after every verb.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace

from stagepost import lifecycle
from stagepost.batch import Page
from stagepost.choice import LaneTurns
from stagepost.errors import (
    CancelAsked,
    Conflict,
    IdempotencyMismatch,
    LeaseLost,
    NotFound,
)
from stagepost.event import Event
from stagepost.lifecycle import Blame, Change
from stagepost.mass import Kind, MassChange
from stagepost.outcome import Failed, Outcome, Succeeded, Waiting
from stagepost.records import (
    Checkpoint,
    Demand,
    FailureRecord,
    NewTask,
    ProgressNote,
    Resume,
    SavedStep,
    Submitted,
)
from stagepost.signals import (
    NewWait,
    OpenWait,
    Pending,
    Signal,
    check_sent,
    end_of,
    heard,
    pending,
    wakes,
)
from stagepost.stores.choosing import STRIDE
from stagepost.task import FINAL, SETTLED, CancelRequest, Lease, Payload, Status, Task
from stagepost.waiting import SignalSent, milliseconds
from support.model_families import Families
from support.world import LANES

_KEPT = 24 * 3_600_000
"""Milliseconds for which an Idempotency-Key is remembered."""

_TRIES = 32
"""Looks of one claim behind tasks that are past their deadline."""


def score(task: Task) -> tuple[int, str]:
    """What orders the tasks of a tenant."""
    return ((task.pooled_at or 0) - task.priority * 1000, task.id)


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
    places: dict[tuple[str, str], int] = field(default_factory=dict)
    latest: dict[str, int] = field(default_factory=dict)
    waits: dict[str, dict[str, OpenWait]] = field(default_factory=dict)
    begun: dict[tuple[str, str], int] = field(default_factory=dict)
    signals: dict[str, list[Signal]] = field(default_factory=dict)
    sent: set[tuple[str, str]] = field(default_factory=set)
    """The tasks and ids of all signals."""
    families: Families = field(default_factory=Families)
    holders: set[str] = field(default_factory=set)
    keys: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    requests: dict[tuple[str, str, str], tuple[str, str, int]] = field(default_factory=dict)
    told: Counter[str] = field(default_factory=Counter)
    """How many events each task has had, also those that were taken away."""
    gone: dict[str, Status] = field(default_factory=dict)
    turns: dict[str, LaneTurns] = field(default_factory=dict)
    looks_commit: bool = False
    """Whether each look of a claim is a transaction of its own, so that others come between."""
    now: int = 0

    def pool(self, lane: str) -> list[Task]:
        """A lane's tasks that can be claimed, by their scores."""
        queued = [
            task
            for task in self.tasks.values()
            if task.status is Status.QUEUED and task.lane == lane and not self.blocked(task)
        ]
        return sorted(queued, key=score)

    def blocked(self, task: Task) -> bool:
        """Whether others hold the key of a task."""
        return task.concurrency_key is not None and task.id not in self.holders

    def hand_over(self) -> None:
        """Keys go to whoever is next; one task of a tenant holds a key."""
        in_line = [
            task
            for task in self.tasks.values()
            if task.concurrency_key and task.status in {Status.QUEUED, Status.RUNNING}
        ]
        self.holders &= {task.id for task in in_line}
        taken = {(t.tenant, t.concurrency_key) for t in in_line if t.id in self.holders}
        for task in sorted(in_line, key=score):
            if (task.tenant, task.concurrency_key) not in taken:
                taken.add((task.tenant, task.concurrency_key))
                self.holders.add(task.id)

    def position(self, task_id: str) -> int | None:
        """A task's place in its lane, from 1."""
        task = self.tasks[task_id]
        tenants = self.by_tenant(self.pool(task.lane))
        if task.status is not Status.QUEUED:
            return None
        ahead = sum(score(other) < score(task) for other in tenants.pop(task.tenant, []))
        return ahead + sum(min(len(others), ahead + 1) for others in tenants.values()) + 1

    @staticmethod
    def by_tenant(tasks: Sequence[Task]) -> dict[str, list[Task]]:
        """The tasks of each tenant."""
        tenants: dict[str, list[Task]] = {}
        for task in tasks:
            tenants.setdefault(task.tenant, []).append(task)
        return tenants

    def fair(self, lane: str, tasks: Sequence[Task]) -> list[Task]:
        """A lane's tasks in the order in which its tenants get their turns."""
        tenants = self.by_tenant(tasks)
        if len(tenants) == 1:
            return list(tasks)
        places = {
            tenant: max(self.places.get((lane, tenant), 0), self.latest.get(lane, 0))
            for tenant in tenants
        }
        turns = [
            (places[tenant] + number * STRIDE, self.places.get((lane, tenant), 0), tenant, number)
            for tenant, own in tenants.items()
            for number in range(len(own))
        ]
        return [tenants[tenant][number] for _, _, tenant, number in sorted(turns)]

    def give_turns(self, lane: str, shared: bool, taken: Sequence[Task]) -> None:  # noqa: FBT001
        """The tenants of a lane move on, if they shared it."""
        if not shared:
            return
        latest = self.latest.get(lane, 0)
        for tenant, own in self.by_tenant(taken).items():
            start = max(self.places.get((lane, tenant), 0), latest)
            self.places[lane, tenant] = start + len(own) * STRIDE
            last = self.places[lane, tenant] - STRIDE
            self.latest[lane] = max(self.latest.get(lane, 0), last)

    def submit(self, new: NewTask) -> Submitted:
        """Accept a task, or answer with an earlier one. Raises IdempotencyMismatch."""
        earlier = self._earlier(new)
        if earlier is not None:
            return earlier
        holder = self.holder((new.tenant, new.type, new.unique_key))
        if holder is not None:
            if new.debounce and holder.status is Status.PENDING:
                self._apply(lifecycle.debounced(holder, task_of(new, self.now)))
                self.inputs[holder.id] = new.input
            return self._answered(new, holder.id, replayed=True)
        self.inputs[new.id] = new.input
        if new.unique_key is not None:
            self.keys[new.id] = (new.tenant, new.type, new.unique_key)
        self._apply(lifecycle.accepted(task_of(new, self.now), self.now))
        self.hand_over()
        return self._answered(new, new.id, replayed=False)

    def holder(self, key: tuple[str, str, str | None]) -> Task | None:
        """The task that has a unique key."""
        having = [self.tasks[task_id] for task_id, of_task in self.keys.items() if of_task == key]
        alive = [task for task in having if task.status not in SETTLED]
        assert len(alive) <= 1
        return alive[0] if alive else None

    def _earlier(self, new: NewTask) -> Submitted | None:
        if new.idempotency is None:
            return None
        request = self.requests.get((new.tenant, new.user, new.idempotency.key))
        if request is None:
            return None
        fingerprint, task_id, at = request
        if at < self.now - _KEPT:
            return None
        if fingerprint != new.idempotency.fingerprint:
            raise IdempotencyMismatch("model")
        if task_id in self.gone:
            return Submitted(task_id, self.gone[task_id], at, replayed=True)
        return self._answered(None, task_id, replayed=True)

    def _answered(self, new: NewTask | None, task_id: str, *, replayed: bool) -> Submitted:
        if new is not None and new.idempotency is not None:
            key = new.idempotency
            self.requests[new.tenant, new.user, key.key] = (key.fingerprint, task_id, self.now)
        task = self.tasks[task_id]
        lane = task.lane if replayed else ""
        return Submitted(task_id, task.status, task.created_at, replayed, lane)

    def claims(self, demand: Demand, rounds: int = _TRIES) -> Iterator[tuple[list[str], "Model"]]:
        """What a claim may answer, in its order, each with the model as it is then; see `claimed`.

        There is more than one answer only where a parent hears between two looks of the claim that
        the child was too late. This model is used up.
        """
        chosen = self._choose(demand)
        in_time = [task.id for task in chosen if task.deadline > self.now]
        if in_time or not chosen or rounds == 1:
            self._tell_parents()
            yield in_time, self
            return
        if self.looks_commit and self.families.untold:
            heard = deepcopy(self)
            heard._tell_parents()
            yield from heard.claims(demand, rounds - 1)
        yield from self.claims(demand, rounds - 1)

    def _choose(self, demand: Demand) -> list[Task]:
        """What one look of a claim finds; what is too late of it is dead-lettered."""
        turns = self.turns[demand.worker_id]
        offered = {
            lane: [task for task in self.pool(lane) if _is_for(task, demand)]
            for lane in turns.lanes
        }
        cut = {lane: self.fair(lane, tasks)[: demand.slots] for lane, tasks in offered.items()}
        chosen = turns.choose(cut, demand.slots)
        for lane, tasks in offered.items():
            taken = [task for task in chosen if task.lane == lane]
            self.give_turns(lane, len(self.by_tenant(tasks)) > 1, taken)
            in_order = iter(sorted(taken, key=self.pool(lane).index))
            chosen = [next(in_order) if task.lane == lane else task for task in chosen]
        for task in chosen:
            if task.deadline <= self.now:
                self._apply(lifecycle.expired(task, self.now))
        self.hand_over()
        return chosen

    def claimed(self, lease: Lease, demand: Demand) -> None:
        """A task was claimed under this lease."""
        task = self.tasks[lease.task_id]
        version = demand.versions.get(task.type, (1,))[0]
        self._apply(lifecycle.claimed(task, lease, demand.worker_id, self.now, version))

    def register(self, worker_id: str) -> None:
        """A worker begins to live."""
        self.turns[worker_id] = LaneTurns(LANES)
        self.beats[worker_id] = self.now

    def beat(self, worker_id: str) -> tuple[bool, dict[str, CancelRequest]]:
        """A worker lives on; which of its tasks are to stop."""
        self.beats[worker_id] = self.now
        asked = {
            task.id: task.cancel
            for task in self.tasks.values()
            if task.worker_id == worker_id and task.cancel is not None
        }
        return True, asked

    def retire(self, worker_id: str) -> None:
        """A worker that holds nothing ends its life."""
        self.beats.pop(worker_id, None)

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

    def sleep(self, lease: Lease, path: str, seconds: float) -> Pending:
        """How long a sleep still lasts."""
        task = self.owned(lease)
        wait = OpenWait(path, None, self.now + milliseconds(seconds))
        return pending(self._begin(task, wait).until, self.now)

    def listen(self, lease: Lease, wanted: NewWait) -> Pending | str:
        """Take a signal, or go on waiting."""
        task = self.owned(lease)
        wait = self._begin(task, wanted.opened(self.now))
        sent = self.signals.get(task.id, [])
        end = end_of(wait, sent, self.now)
        if end is None:
            return pending(wait.until, self.now)
        signal, text = end
        took = self.now - self.begun[task.id, wait.path]
        value = Payload(text, len(text.encode()))
        step = Checkpoint(wanted.path, wanted.name, wanted.input_hash, value, took)
        self.checkpoint(lease, step, None)
        del self.waits[task.id][wait.path]
        if signal is not None:
            sent.remove(signal)
        return text

    def _begin(self, task: Task, wait: OpenWait) -> OpenWait:
        waits = self.waits.setdefault(task.id, {})
        if wait.path not in waits:
            waits[wait.path] = wait
            self.begun[task.id, wait.path] = self.now
        return waits[wait.path]

    def send(self, task_id: str, signal: Signal) -> None:
        """Keep a signal, and wake who waits for it."""
        task, waits = self.tasks[task_id], self.waits.get(task_id, {}).values()
        if (task_id, signal.id) in self.sent:
            return
        signal = replace(signal, sent_at=self.now)
        sent = self.signals.setdefault(task_id, [])
        check_sent(task, signal, waits, sent)
        sent.append(signal)
        self.sent.add((task_id, signal.id))
        change = lifecycle.woken(task, self.now) if wakes(task, signal, waits) else None
        if change is not None:
            self._apply(change)
            self.hand_over()
            self._tell_parents()

    def settle(self, lease: Lease, outcome: Outcome, note: ProgressNote | None) -> None:
        """End a claim."""
        self.owned(lease)
        if note is not None:
            self.progress(lease, note)
        self._settle(self.tasks[lease.task_id], outcome)
        self.hand_over()
        self._cancel_families()

    def spawn(self, lease: Lease, page: Page) -> None:
        """Start children."""
        parent = self.owned(lease)
        family = self.families.live(parent.id, page.batch.path)
        if family is not None and (family.batch.made > page.first or family.batch.sealed):
            return
        if parent.cancel is not None:
            raise CancelAsked("model")
        if family is None and page.first == 0:
            family = self.families.begin(parent, page)
        if family is None or (family.batch.made, family.batch.digest) != (page.first, page.before):
            raise Conflict("model")
        for new in self.families.grow(family, parent, page):
            self.inputs[new.id] = new.input
            task = task_of(new, self.now)
            self._apply(lifecycle.accepted(task, self.now))
        self.tasks[parent.id] = lifecycle.spawned(self.tasks[parent.id])

    def _tell_parents(self) -> None:
        # A parent that ends by what it hears has a parent of its own to tell.
        while told := self.families.told():
            for batch in told:
                parent = self.tasks[batch.parent_id]
                found = lifecycle.children_changed(parent, batch, self.now)
                if found is not None:
                    self._apply(found)
        self.hand_over()

    def _settle(self, task: Task, outcome: Outcome) -> None:
        batches = self.families.of(task.id)
        happened = isinstance(outcome, Waiting) and (
            self._holds(task, outcome)
            or any(lifecycle.waits_for(outcome.conditions, batch) for batch in batches)
        )
        self._apply(lifecycle.settled(task, outcome, self.now, happened=happened))
        if isinstance(outcome, Succeeded):
            self.results[task.id] = outcome.result
        if isinstance(outcome, Failed):
            failure = outcome.failure
            record = FailureRecord(
                task.attempt, task.fence, failure.kind, failure.message, failure.trace, self.now
            )
            self.failures.setdefault(task.id, []).append(record)

    def _holds(self, task: Task, outcome: Waiting) -> bool:
        waits, sent = self.waits.get(task.id, {}), self.signals.get(task.id, [])
        return any(
            isinstance(each, SignalSent) and each.path in waits and heard(waits[each.path], sent)
            for each in outcome.conditions
        )

    def cancel(self, task_id: str, request: CancelRequest) -> None:
        """Cancel."""
        self._change(task_id, lambda task: lifecycle.cancelled(task, request, self.now))
        self._cancel_families()

    def _cancel_families(self) -> None:
        """Cancel what is to be cancelled with its parent, and so on down."""
        while (next_one := self.families.next_to_cancel()) is not None:
            child_id, request = next_one
            child = self.tasks[child_id]
            found = lifecycle.cancelled_with_parent(child, request, self.now)
            if found is not None:
                self._apply(found)
            elif child.status is Status.DEAD_LETTER:
                self.families.cancel_children(child_id, request)
        self._tell_parents()

    def discard(self, task_id: str, request: CancelRequest) -> None:
        """Give up a dead letter."""
        self._change(task_id, lambda task: lifecycle.discarded(task, request, self.now))
        self._cancel_families()

    def redrive(self, task_id: str, by: str, resume: Resume, attempts: int) -> None:
        """Send a dead letter back."""
        how: str | Mapping[str, str] = "checkpoints"
        steps = self.steps.get(task_id, [])
        left: int | None = len(steps)
        cut: tuple[int, str] | None = (len(steps), "~")
        if resume.fresh or resume.input is not None:
            how, cut = "fresh", (-1, "~")
        elif resume.from_step is not None:
            how = {"fromStep": resume.from_step}
            cut = self._place_of(task_id, resume.from_step)
        change = lifecycle.redriven(self.tasks[task_id], by, how, attempts, self.now)
        if task_id in self.keys and self.holder(self.keys[task_id]) is not None:
            raise Conflict("model")
        if cut is None:
            raise NotFound("model")
        left = max(0, cut[0])
        for child_id, tries in self.families.dead_below(task_id, cut, self.tasks):
            child = self.tasks[child_id]
            self._apply(lifecycle.redriven(child, by, "checkpoints", tries, self.now))
        if how != "checkpoints":
            self.families.drop(task_id, cut, by)
        self._apply(change)
        self.hand_over()
        del steps[left:]
        if how != "checkpoints":
            self.waits.pop(task_id, None)
        if resume.input is not None:
            self.inputs[task_id] = resume.input
        self._cancel_families()

    def _place_of(self, task_id: str, name: str) -> tuple[int, str] | None:
        steps = enumerate(self.steps.get(task_id, []))
        places = [(n, "~") for n, step in steps if name in {step.path, step.name}]
        return min([*places, *self.families.places(task_id, name)], default=None)

    def free(self, task_id: str) -> list[str]:
        """A limit is free: who waits for one goes on."""
        task = self.tasks[task_id]
        limited = any(condition.kind == "limit" for condition in task.conditions)
        change = lifecycle.woken(task, self.now) if limited else None
        if change is None:
            return []
        self._apply(change)
        self.hand_over()
        self._tell_parents()
        return [task_id]

    def prune(self, older_than: float) -> int:
        """Take what ended so long ago."""
        old = [
            task
            for task in self.tasks.values()
            if self._is_old(task, older_than) and not self.families.open_below(task.id)
        ]
        # Parents are older: no child goes but with its parent, or when that has gone.
        taken = 0
        for task in old:
            if task.parent_id not in self.tasks:
                self.take(task.id)
                taken += 1
        return taken

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
        """Take one task; one that has gone stays so."""
        if task_id in self.gone:
            return
        task = self.tasks[task_id]
        parent = None if task.parent_id is None else self.tasks.get(task.parent_id)
        if task.status not in SETTLED or self.families.open_below(task_id):
            raise Conflict("model")
        if parent is not None and parent.status not in FINAL:
            raise Conflict("model")
        self.take(task_id)

    def take(self, task_id: str) -> None:
        """Nothing of a task is left but how it ended."""
        self.gone[task_id] = self.tasks.pop(task_id).status
        for kept in (self.inputs, self.results, self.events, self.steps, self.failures):
            kept.pop(task_id, None)
        self.waits.pop(task_id, None)
        self.signals.pop(task_id, None)
        self.keys.pop(task_id, None)
        self.families.forget(task_id)

    def change_many(self, change: MassChange) -> int:
        """Do to all of them what is done to one."""
        meant = [
            task.id
            for task in self.tasks.values()
            if task.status in change.where.statuses
            and (change.kind is not Kind.REDRIVE or task.type in change.attempts)
        ]
        changed = sum(self._change_one_of_many(change, task_id) for task_id in sorted(meant))
        self._cancel_families()
        return changed

    def _change_one_of_many(self, change: MassChange, task_id: str) -> bool:
        task, request = self.tasks[task_id], CancelRequest(change.by, change.reason)
        if task.status not in change.where.statuses:
            # It went back with its parent.
            return False
        try:
            if change.kind is Kind.REDRIVE:
                self.redrive(task_id, change.by, change.resume, change.attempts[task.type])
            elif change.kind is Kind.DISCARD:
                self._change(task_id, lambda task: lifecycle.discarded(task, request, self.now))
            else:
                self._change(task_id, lambda task: lifecycle.cancelled(task, request, self.now))
        except Conflict:
            return False
        return self.tasks[task_id] != task

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
        self.hand_over()
        self._cancel_families()
        return silent, {task.id for task in held}

    def _each(self, change: Callable[[Task], Change | None]) -> int:
        changes = [found for task in self.tasks.values() if (found := change(task)) is not None]
        for found in changes:
            self._apply(found)
        self.hand_over()
        self._tell_parents()
        return len(changes)

    def _change(self, task_id: str, change: Callable[[Task], Change | None]) -> None:
        found = change(self.tasks[task_id])
        if found is not None:
            self._apply(found)
            self.hand_over()

    def _apply(self, change: Change) -> None:
        task, before = change.task, self.tasks.get(change.task.id)
        self.tasks[task.id] = replace(task)
        if before is not None:
            self.families.changed(before, task)
        events = self.events.setdefault(task.id, [])
        self.told[task.id] += len(change.facts)
        for fact in change.facts:
            events.append(Event(len(events) + 1, fact.kind, fact.data(), self.now))


def task_of(new: NewTask, now: int) -> Task:
    """What a submit makes."""
    run_at = new.run_at if new.run_at is not None else now + round(new.delay * 1000)
    run_at = max(run_at, now)
    ttl = round(new.ttl * 1000)
    parent_id, batch_id, place = new.kin or (None, None, None)
    return Task(
        id=new.id, tenant=new.tenant, user=new.user, type=new.type, lane=new.lane,
        status=Status.PENDING, created_at=now, run_at=run_at, ttl=ttl,
        deadline=run_at + ttl if new.deadline is None else new.deadline,
        hard_deadline=new.deadline is not None, max_attempts=new.max_attempts,
        priority=new.priority, trace_id=new.trace_id, parent_id=parent_id, batch_id=batch_id,
        place=place, concurrency_key=new.concurrency_key,
    )  # fmt: skip


def _is_for(task: Task, demand: Demand) -> bool:
    served = demand.versions.get(task.type, (1,))
    return task.type in demand.types and task.code_version in {0, *served}
