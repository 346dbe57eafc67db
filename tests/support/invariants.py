"""Proves or refutes what must hold of any history, from what callers heard and the store shows.

Nothing is asked of the model here: a mistake that it shares with a store is found all the same.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from stagepost.event import END_EVENTS, Event
from stagepost.outcome import Outcome, Succeeded
from stagepost.records import Checkpoint, Filter, Resume, SavedStep
from stagepost.store import Store
from stagepost.task import EDGES, SETTLED, Status, Task
from support.world import EVERYBODY, LANES

_BECOMES = {
    "queued": Status.QUEUED,
    "started": Status.RUNNING,
    "retrying": Status.FAILED,
    "waiting": Status.WAITING,
    "completed": Status.COMPLETED,
    "failed": Status.DEAD_LETTER,
    "cancelled": Status.CANCELLED,
    "redriven": Status.QUEUED,
}
_HAPPENS_IN = {
    "step": {Status.RUNNING},
    "progress": {Status.PENDING, Status.QUEUED, Status.RUNNING, Status.WAITING, Status.FAILED},
}


@dataclass
class Heard:
    """What callers were told: that is what a store has to keep."""

    accepted: dict[str, str] = field(default_factory=dict)
    """The tenants of accepted tasks."""
    saved: dict[str, dict[str, str | None]] = field(default_factory=lambda: defaultdict(dict))
    """The texts of saved steps, by task and path."""
    results: dict[str, str | None] = field(default_factory=dict)
    """The texts of results that were taken."""

    def step(self, task_id: str, step: Checkpoint) -> None:
        """A step was saved."""
        self.saved[task_id].setdefault(step.path, step.value.text)

    def end(self, task_id: str, outcome: Outcome) -> None:
        """A claim has ended so."""
        if isinstance(outcome, Succeeded):
            self.results.setdefault(task_id, outcome.result.text)

    def redrive(self, task_id: str, resume: Resume) -> None:
        """A task went back; what it then knows of its steps is not told."""
        if resume != Resume():
            self.saved.pop(task_id, None)


@dataclass(frozen=True)
class Found:
    """What a store shows once everything has come to rest."""

    tasks: Mapping[str, Task]
    events: Mapping[str, Sequence[Event]]
    steps: Mapping[str, Sequence[SavedStep]]
    results: Mapping[str, str | None]
    left: Mapping[str, object]
    """What should be nothing: the backlog and whatever else is to be given back."""


async def look(store: Store, tenants: Sequence[str]) -> Found:
    """All that is to be seen."""
    tasks = {task.id: task for task in await store.find(EVERYBODY, Filter(limit=10_000))}
    views = {task_id: await store.get(task_id, EVERYBODY) for task_id in tasks}
    return Found(
        tasks,
        await store.news(dict.fromkeys(tasks, 0), 10_000),
        {task_id: await store.steps(task_id) for task_id in tasks},
        {task_id: view.result.text for task_id, view in views.items() if view.result},
        await _left(store, tenants),
    )


async def _left(store: Store, tenants: Sequence[str]) -> dict[str, object]:
    lanes = await store.lanes(list(LANES))
    quotas = [await store.quotas.get(tenant) for tenant in tenants]
    return {
        "queued in lanes": sum(lane.queued for lane in lanes),
        "running in lanes": sum(lane.running for lane in lanes),
        "oldest in a pool": [each for lane in lanes if (each := lane.oldest_pooled_at)],
        "counted by limits": list(await store.rules.running()),
        "waiting by quotas": sum(quota.waiting for quota in quotas),
        "waiting for a version": list(await store.stamped()),
        "workers": list(await store.workers()),
        "mass changes": list(await store.mass.open(10)),
        "notes of children": await store.children.wake(10),
        "children to cancel": await store.children.cancel_some(10),
        "due": await store.release_due(10),
        "late": await store.expire_queued(10),
    }


def violations(heard: Heard, found: Found, taken: set[str], thinned: set[str]) -> list[str]:
    """One sentence for each that is broken, beginning with its number; empty when all hold.

    `taken` are tasks that somebody had pruned or erased, `thinned` those whose events were.
    """
    return [
        *_none_is_lost(heard, found, taken),
        *_one_completion(heard, found),
        *_legal_moves(found, thinned),
        *_steps_stay(heard, found),
        *_no_gaps(found, thinned),
        *_one_end(found),
        *_tenants_stay(heard, found),
        *_all_is_given_back(found),
    ]


def _none_is_lost(heard: Heard, found: Found, taken: set[str]) -> Iterator[str]:
    for task_id in heard.accepted:
        if task_id not in found.tasks and task_id not in taken:
            yield f"I1 task {task_id} was accepted and is gone"
    for task in found.tasks.values():
        if task.status not in SETTLED:
            yield f"I1 task {task.id} is {task.status}, which is no end"


def _one_completion(heard: Heard, found: Found) -> Iterator[str]:
    for task_id, task in found.tasks.items():
        many = sum(event.kind == "completed" for event in found.events.get(task_id, ()))
        if many != (task.status is Status.COMPLETED):
            yield f"I2 task {task_id} is {task.status} with {many} completions"
        if task_id in heard.results and found.results.get(task_id) != heard.results[task_id]:
            yield f"I2 task {task_id} has another result than the one that was taken"


def _legal_moves(found: Found, thinned: set[str]) -> Iterator[str]:
    for task_id, task in found.tasks.items():
        status = Status.PENDING
        for event in found.events.get(task_id, ()):
            before, status = status, _BECOMES.get(event.kind, status)
            if task_id not in thinned and not _may(before, event.kind):
                yield f"I3 task {task_id} went from {before} by {event.kind}"
        if status is not task.status:
            yield f"I3 task {task_id} is {task.status} and told of {status}"


def _may(before: Status, kind: str) -> bool:
    if kind in _HAPPENS_IN:
        return before in _HAPPENS_IN[kind]
    # The last attempt that fails tells only of its end.
    through = {Status.FAILED} if kind == "failed" and before is Status.RUNNING else set()
    return any(_BECOMES[kind] in EDGES[each] for each in {before, *through})


def _steps_stay(heard: Heard, found: Found) -> Iterator[str]:
    for task_id, events in found.events.items():
        saved = set[str]()
        for event in events:
            if event.kind == "redriven" and event.data["resume"] != "checkpoints":
                saved.clear()
            elif event.kind == "step":
                if event.data["path"] in saved:
                    yield f"I4 step {event.data['path']} of task {task_id} was saved twice"
                saved.add(event.data["path"])
    for task_id, steps in found.steps.items():
        texts = {step.path: step.value.text for step in steps}
        for path, text in heard.saved.get(task_id, {}).items():
            if texts.get(path, "nothing") != text:
                yield f"I4 step {path} of task {task_id} is not what was saved"


def _no_gaps(found: Found, thinned: set[str]) -> Iterator[str]:
    for task_id, task in found.tasks.items():
        seqs = [event.seq for event in found.events.get(task_id, ())]
        first = task.seq if task_id in thinned else 1
        if seqs != list(range(first, task.seq + 1)):
            yield f"I5 the events of task {task_id} have the numbers {seqs} up to {task.seq}"


def _one_end(found: Found) -> Iterator[str]:
    for task_id in found.tasks:
        kinds = [event.kind for event in found.events.get(task_id, ())]
        if kinds[-1:] and kinds[-1] not in END_EVENTS:
            yield f"I6 the last event of task {task_id} is {kinds[-1]}"
        for kind, following in pairwise(kinds):
            goes_on = {"redriven", "cancelled"} if kind == "failed" else set()
            if kind in END_EVENTS and following not in goes_on:
                yield f"I6 {following} follows the end of task {task_id}"


def _tenants_stay(heard: Heard, found: Found) -> Iterator[str]:
    for task_id, tenant in heard.accepted.items():
        task = found.tasks.get(task_id)
        if task is not None and task.tenant != tenant:
            yield f"I7 task {task_id} of {tenant} is {task.tenant}'s"


def _all_is_given_back(found: Found) -> Iterator[str]:
    for task in found.tasks.values():
        if task.lease_id is not None or task.worker_id is not None:
            yield f"I8 task {task.id} still has a lease"
    for what, left in found.left.items():
        if left:
            yield f"I8 {what}: {left}"
