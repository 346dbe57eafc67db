"""A real store and the model, doing the same: every cause goes to both and they are compared."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from stagepost.choice import LaneTurns
from stagepost.errors import Gone, IdempotencyMismatch
from stagepost.mass import Kind, MassChange
from stagepost.outcome import Outcome, Waiting
from stagepost.records import Checkpoint, Demand, Filter, ProgressNote, Resume
from stagepost.retention import Erasure
from stagepost.signals import NewWait, Signal
from stagepost.task import SETTLED, CancelRequest, Lease, Status
from stagepost.waiting import ChildrenOver, Condition, SignalSent, TimeComes
from support.crashes import Crash
from support.families import let_wake, new_batch, page
from support.model import Model, answer_of, kinds_of
from support.world import (
    EVERYBODY,
    LANES,
    Hand,
    World,
    checkpoint,
    demand,
    new_id,
    new_task,
    note,
    refused,
)

VERSIONS = ((2, 1), (1,), (3, 2))
"""Of the code of the workers, one after the other."""

"""Leaves the store as a crash would, and opens what is then on the disk."""


@dataclass(frozen=True)
class Cause:
    """A method of Twins and its arguments, as a failing example prints it."""

    name: str
    arguments: tuple[Any, ...] = ()


class Twins:
    """The causes. A number picks a task among those there are."""

    def __init__(self, world: World, crash: Crash, *, looks_commit: bool) -> None:
        self.world = world
        self.model = Model(looks_commit=looks_commit)
        self._crash = crash
        self._hands: list[Hand] = []
        self._leases: list[Lease] = []

    async def run(self, causes: Sequence[Cause]) -> None:
        """One history."""
        for cause in causes:
            self.model.now = max(self.model.now, self.world.clock.now())
            await getattr(self, cause.name)(*cause.arguments)
            await self.let_families_know()
            await self.compare()
        await self.compare_details()

    async def let_families_know(self) -> None:
        """Let the notes of children be worked off; another loop may be at it, so wait for it."""
        if not self.model.families.stirred:
            return
        self.model.families.stirred = False
        limit = time.monotonic() + 10
        await let_wake(self.world)
        while time.monotonic() < limit:
            found = await self.world.store.find(EVERYBODY, Filter(limit=10_000))
            if {task.id: task.seq for task in found} == {
                task.id: task.seq for task in self.model.tasks.values()
            }:
                return
            await asyncio.sleep(0.01)
            await let_wake(self.world)

    # What is compared

    async def compare(self) -> None:
        """Every field of every task, every event, each place in the queue, and the bells."""
        found = await self.world.store.find(EVERYBODY, Filter(limit=10_000))
        assert {task.id: task for task in found} == self.model.tasks
        assert [task.id for task in found] == sorted(self.model.tasks, reverse=True)
        news = await self.world.store.news(dict.fromkeys(self.model.tasks, 0), 10_000)
        assert {task_id: list(events) for task_id, events in news.items()} == {
            task_id: events for task_id, events in self.model.events.items() if events
        }
        await self.compare_pool()
        self.compare_bells()

    async def compare_pool(self) -> None:
        tasks = self.model.tasks.values()
        queued = [task.id for task in tasks if task.status is Status.QUEUED]
        views = await asyncio.gather(*map(self.world.view, queued))
        for view in views:
            assert view.position == self.model.position(view.task.id)
        for lane in await self.world.store.lanes(list(LANES)):
            pool = self.model.pool(lane.name)
            in_lane = [task for task in tasks if task.lane == lane.name]
            assert lane.queued == sum(task.status is Status.QUEUED for task in in_lane)
            if all(task.priority >= 0 for task in pool):
                oldest = min((task.pooled_at or 0 for task in pool), default=None)
                assert lane.oldest_pooled_at == oldest

    def compare_bells(self) -> None:
        rung = Counter(task_id for bell in self.world.bells for task_id in bell.events)
        assert rung == {task_id: many for task_id, many in self.model.told.items() if many}

    async def compare_details(self) -> None:
        """What is read task by task."""
        for task_id in self.model.tasks:
            store, model = self.world.store, self.model
            view = await self.world.view(task_id)
            assert view.input == model.inputs[task_id]
            assert view.result == model.results.get(task_id)
            assert list(await store.steps(task_id)) == model.steps.get(task_id, [])
            assert list(await store.failures(task_id)) == model.failures.get(task_id, [])
            known = await store.children.batches(task_id)
            assert list(known) == model.families.of(task_id)
        for task_id in self.model.gone:
            await refused(self.world.view(task_id), Gone)
        workers = {worker.id: worker.beat_at for worker in await self.world.store.workers()}
        assert workers == self.model.beats

    # The causes

    async def submit(self, many: int, changes: dict[str, Any]) -> None:
        values = dict(changes)
        if "deadline" in values:
            values["deadline"] += self.model.now
        if "input_size" in values:
            values["input"] = '"' + "x" * values.pop("input_size") + '"'
        news = [new_task(**values) for _ in range(many)]
        answers = await asyncio.gather(*map(self.world.store.submit, news), return_exceptions=True)
        for new, answer in zip(news, answers, strict=True):
            try:
                assert answer == self.model.submit(new)
            except IdempotencyMismatch:
                assert isinstance(answer, IdempotencyMismatch)

    async def claim(self, which: int, slots: int) -> None:
        hand = await self.hand(which)
        # Whether a parent is ready would else depend on who is quicker, it or this claim.
        await self.let_families_know()
        wanted = demand(hand, slots)
        claims = await self.world.store.claim(wanted)
        self.model = self.model_after(wanted, [claimed.task_id for claimed in claims])
        for claimed in claims:
            self.model.claimed(claimed.lease, wanted)
            self._leases.append(claimed.lease)
            task = self.model.tasks[claimed.task_id]
            time_left = task.deadline - self.model.now
            assert claimed == (
                task.id, task.fence, task.lease_id, task.tenant, task.user, task.type, task.lane,
                task.attempt, task.max_attempts, time_left, task.progress, task.step,
                task.saved_steps, task.lost_claims, task.waits, task.trace_id, task.seq,
                self.model.inputs[task.id], task.code_version, task.upload_bytes,
                self.model.now - (task.started_at or 0),
            )  # fmt: skip

    def model_after(self, wanted: Demand, found: list[str]) -> Model:
        """The model once a claim has answered so."""
        others = []
        for answer, model in self.model.claims(wanted):
            if answer == found:
                return model
            others.append(answer)
        raise AssertionError(f"{found} were claimed and not {' or '.join(map(str, others))}")

    async def come_too_late(self, which: int, tasks: list[dict[str, Any]], slots: int) -> None:
        """Some of several tasks are past their deadline when a worker comes to them."""
        for changes in tasks:
            await self.submit(1, changes)
        self.go_to(self.model.now + 1_000)
        await self.claim(which % 2, slots)

    async def hand(self, which: int) -> Hand:
        """One of a few workers, registered anew if it was rescued."""
        alive = [hand for hand in self._hands if hand.id in self.model.beats]
        if which < len(alive):
            return alive[which]
        versions = {"review": VERSIONS[len(self._hands) % len(VERSIONS)]}
        hand = await self.world.worker(versions=versions)
        self._hands.append(hand)
        self.model.turns[hand.id] = LaneTurns(LANES)
        self.model.beats[hand.id] = self.model.now
        return hand

    async def settle(self, which: int, outcomes: list[Outcome], percent: int | None) -> None:
        """Ends of several claims at once; each lease may be stale."""
        leases = self.leases(which, len(outcomes))
        noted = None if percent is None else note(percent, f"{percent} %")
        await self.both(
            [
                (
                    self.world.store.settle(lease, outcome, noted),
                    partial(self.model.settle, lease, outcome, noted),
                )
                for lease, outcome in zip(leases, outcomes, strict=False)
            ]
        )

    async def save(self, which: int, steps: list[tuple[Checkpoint, ProgressNote | None]]) -> None:
        """Several checkpoints of one claim at once."""
        for lease in self.leases(which, 1):
            await self.both(
                [
                    (
                        self.world.store.checkpoint(lease, *step),
                        partial(self.model.checkpoint, lease, *step),
                    )
                    for step in steps
                ]
            )

    async def spawn(
        self, which: int, path: str, many: int, *, last: bool, detached: bool, late: bool
    ) -> None:
        """A page of children, mostly the next one."""
        for lease in self.leases(which, 1):
            family = self.model.families.live(lease.task_id, path)
            first = 0 if family is None or family.batch.sealed else family.batch.made
            batch = new_batch(path, type="review", lane="interactive", detached=detached)
            wanted = page(batch, many, first + late, last=last)
            call = self.world.store.children.spawn(lease, wanted)
            await self.both([(call, partial(self.model.spawn, lease, wanted))])

    async def parent(
        self,
        which: int,
        path: str,
        many: int,
        how: frozenset[str],
    ) -> None:
        """A parent starts children, waits for some, or both."""
        if "waits" not in how:
            detached, late = "detached" in how, "late" in how
            await self.spawn(
                which, path, many, last="open" not in how, detached=detached, late=late
            )
        if "goes on" not in how:
            await self.wait_for_children(which, stop="stop" in how)

    async def family(self, which: int, path: str, ends: list[Outcome], how: frozenset[str]) -> None:
        """A parent with children, some of which end at once."""
        # Each of these may end somebody's child, and another loop tells the parents.
        await self.claim(which % 2, 1)
        await self.let_families_know()
        parents = self.leases(which, 1)
        await self.parent(which, path, len(ends), how)
        await self.let_families_know()
        for _ in range(3):
            await self.claim(which % 2, 4)
            await self.let_families_know()
        for parent in parents:
            running = [
                task.lease
                for task in self.model.tasks.values()
                if task.parent_id == parent.task_id and task.lease is not None
            ]
            for lease, outcome in zip(running, ends, strict=False):
                call = self.world.store.settle(lease, outcome)
                await self.both([(call, partial(self.model.settle, lease, outcome, None))])

    async def wait_for_children(self, which: int, *, stop: bool) -> None:
        """A parent waits for one of its batches, or for one that there is not."""
        for lease in self.leases(which, 1):
            paths = [batch.path for batch in self.model.families.of(lease.task_id)] or ["none"]
            condition = ChildrenOver("children", paths[which % len(paths)], stop)
            outcome = Waiting((condition,))
            call = self.world.store.settle(lease, outcome)
            await self.both([(call, partial(self.model.settle, lease, outcome, None))])

    async def note(self, which: int, notes: list[ProgressNote]) -> None:
        """Progress of several claims at once, and several times of each."""
        leases = self.leases(which, 3)
        await self.both(
            [
                (
                    self.world.store.progress(lease, told),
                    partial(self.model.progress, lease, told),
                )
                for told in notes
                for lease in leases
            ]
        )

    async def sleep(self, which: int, number: int, seconds: float) -> None:
        """A sleep of a claim begins, or is come to again."""
        for lease in await self.current(which):
            arguments = (lease, f"sleep#{number}", seconds)
            await self.alike(
                self.world.store.waits.sleep(*arguments), partial(self.model.sleep, *arguments)
            )

    async def listen(self, which: int, wait: NewWait, parks: bool) -> None:  # noqa: FBT001
        """A wait of a claim begins, goes on or ends; the claim may then end for it."""
        for lease in await self.current(which):
            await self.alike(
                self.world.store.waits.listen(lease, wait), partial(self.model.listen, lease, wait)
            )
            if parks:
                await self._park(lease)
                if self.model.tasks.get(lease.task_id) and which % 2:
                    await self._send(lease.task_id, wait.signal, "ada")

    async def alike(self, call: Awaitable[object], verb: Callable[[], object]) -> None:
        """Both give the same value, or refuse alike."""
        (found,) = await asyncio.gather(call, return_exceptions=True)
        if isinstance(found, BaseException):
            assert kinds_of([found]) == [answer_of(verb)]
        else:
            assert found == verb()

    async def park(self, which: int) -> None:
        """A claim ends because all that it has begun to wait for has not come."""
        for lease in await self.current(which):
            await self._park(lease)

    async def _park(self, lease: Lease) -> None:
        waits = self.model.waits.get(lease.task_id, {}).values()
        conditions: tuple[Condition, ...] = tuple(
            TimeComes("sleep", wait.until or 0)
            if wait.name is None
            else SignalSent(wait.name, wait.path, wait.until)
            for wait in waits
        )
        if conditions:
            outcome = Waiting(conditions)
            call = self.world.store.settle(lease, outcome)
            await self.both([(call, partial(self.model.settle, lease, outcome, None))])

    async def send(self, which: int, name: str, sender: str, many: int) -> None:
        """Signals, one after the other."""
        for task_id in self.task_ids(which, Status.WAITING if which else Status.RUNNING):
            for _ in range(many):
                await self._send(task_id, name, sender)

    async def _send(self, task_id: str, name: str, sender: str) -> None:
        signal = Signal(new_id(), name, "1", sender, ("read",))
        call = self.world.store.waits.send(task_id, EVERYBODY, signal)
        await self.both([(call, partial(self.model.send, task_id, signal))])

    async def free(self, which: int) -> None:
        """A limit is free that one task may wait for."""
        for task_id in self.task_ids(which, Status.WAITING):
            woken = await self.world.store.limits.wake([task_id])
            assert list(woken) == self.model.free(task_id)

    async def cancel(self, which: int, by: str) -> None:
        request = CancelRequest(by, "no need")
        for task_id in self.task_ids(which, Status.RUNNING if which else None):
            before = self.model.tasks[task_id]
            await self.both(
                [
                    (
                        self.world.cancel(task_id, request),
                        partial(self.model.cancel, task_id, request),
                    )
                ]
            )
            if before.status is Status.RUNNING and before.cancel is None:
                assert self.world.bells[-1].cancels == [task_id]

    async def discard(self, which: int) -> None:
        request = CancelRequest("ada", "")
        for task_id in self.task_ids(which, Status.DEAD_LETTER):
            call = self.world.store.discard(task_id, EVERYBODY, request)
            await self.both([(call, partial(self.model.discard, task_id, request))])

    async def redrive(self, which: int, resume: Resume, attempts: int) -> None:
        for task_id in self.task_ids(which, Status.DEAD_LETTER):
            call = self.world.store.redrive(task_id, EVERYBODY, "ada", resume, attempts)
            await self.both([(call, partial(self.model.redrive, task_id, "ada", resume, attempts))])

    async def change_many(self, kind: Kind) -> None:
        """Redrive, discard or cancel all that there is to be."""
        dead = {Status.DEAD_LETTER}
        statuses = set(Status) - SETTLED if kind is Kind.CANCEL else dead
        of = MassChange(
            id=new_id(), kind=kind, scope=EVERYBODY, by="ada", reason="many",
            where=Filter(statuses=tuple(statuses)), attempts={"review": 2, "translate": 1},
        )  # fmt: skip
        mass = self.world.store.mass
        await mass.begin(of)
        progress = (await mass.advance(of.id)).progress
        assert progress.sent == self.model.change_many(of)
        await mass.stop(of.id, of.kind, EVERYBODY, "the model goes on by itself")

    async def prune(self, older_than: float) -> None:
        page = await self.world.store.retention.prune_tasks("", older_than=older_than, limit=10_000)
        assert page.changed == self.model.prune(older_than)

    async def prune_events(self, older_than: float) -> None:
        page = await self.world.store.retention.prune_events(
            "", older_than=older_than, limit=10_000
        )
        assert page.changed == self.model.prune_events(older_than)

    async def erase(self, which: int) -> None:
        for task_id in self.task_ids(which, Status.DEAD_LETTER if which % 2 else None):
            wish = Erasure("eve", self.model.tasks[task_id].seq, "hash")
            call = self.world.store.retention.erase(task_id, EVERYBODY, wish)
            await self.both([(call, partial(self.model.erase, task_id))])

    async def time_passes(self, seconds: float) -> None:
        self.world.clock.advance(seconds)

    async def beat(self, which: int) -> None:
        hand = await self.hand(which)
        beat = await self.world.store.beat(hand.id, "running")
        self.model.beats[hand.id] = self.model.now
        asked = {
            task.id: task.cancel
            for task in self.model.tasks.values()
            if task.worker_id == hand.id and task.cancel is not None
        }
        assert (beat.known, dict(beat.cancels)) == (True, asked)

    async def release(self) -> None:
        assert await self.world.store.release_due(10_000) == self.model.release_due()

    async def go_on(self, which: int) -> None:
        """Whatever one task needs to get on: its time, a claim, a redrive."""
        for task_id in self.task_ids(which):
            task = self.model.tasks[task_id]
            if task.due_at is not None:
                self.go_to(task.due_at)
                await self.release()
            elif task.status is Status.QUEUED:
                await self.claim(which % 2, 3)
            elif task.status is Status.DEAD_LETTER:
                await self.redrive(which, Resume(), 2)

    async def reach_deadline(self, which: int, short_by: int) -> None:
        """Go to a task's deadline, or to a moment before."""
        for task_id in self.task_ids(which, Status.QUEUED):
            self.go_to(self.model.tasks[task_id].deadline - short_by)

    def go_to(self, instant: int) -> None:
        """Advance the clock to an instant that is ahead."""
        ahead = instant - self.model.now
        if ahead > 0:
            self.world.clock.advance(ahead / 1000)
            self.model.now += ahead

    async def expire(self) -> None:
        self.world.clock.advance(61)
        self.model.now += 61_000
        assert await self.world.store.expire_queued(10_000) == self.model.expire_queued()

    async def rescue(self, older_than: float) -> None:
        rescue = await self.world.store.rescue(older_than=older_than)
        assert (set(rescue.workers), set(rescue.tasks)) == self.model.rescue(older_than)

    async def restart(self) -> None:
        await self.world.reopen()

    async def crash(self) -> None:
        await self._crash(self.world)

    async def both(self, verbs: Sequence[tuple[Awaitable[object], Callable[[], object]]]) -> None:
        """The calls at once, and the model's verbs one after the other: the same answers."""
        answers = await asyncio.gather(*(call for call, _ in verbs), return_exceptions=True)
        assert kinds_of(answers) == [answer_of(verb) for _, verb in verbs]

    async def current(self, which: int) -> list[Lease]:
        """A lease that owns its task, if one can be had; else, and for 0, any."""
        running = [task.lease for task in self.model.tasks.values() if task.lease is not None]
        if not running and which:
            if not any(map(self.model.pool, LANES)):
                await self.submit(1, {})
            await self.claim(which % 2, 1)
            running = [task.lease for task in self.model.tasks.values() if task.lease is not None]
        return [running[which % len(running)]] if running and which else self.leases(which, 1)

    def leases(self, which: int, many: int) -> list[Lease]:
        """Leases of different tasks, mostly current ones; a stale one where the number says so."""
        current = [task.lease for task in self.model.tasks.values() if task.lease is not None]
        leases = current if current and which else [*self._leases[-2:], *current]
        leases = leases or [Lease(new_id(), 1, new_id())]
        start = which % len(leases)
        picked = leases[start:] + leases[:start]
        return list({lease.task_id: lease for lease in picked[:many]}.values())

    def task_ids(self, which: int, status: Status | None = None) -> list[str]:
        """One task, if there is any; where possible one in this status."""
        there = list(self.model.tasks)
        fitting = [id_ for id_ in there if self.model.tasks[id_].status is status]
        among = fitting or there
        return [among[which % len(among)]] if among else []


def step(number: int, text: str) -> Checkpoint:
    """A checkpoint among a few paths, so that some are saved twice."""
    return checkpoint(f"step#{number}", text, took=number)
