"""A real store and the model, doing the same: every cause goes to both and they are compared."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from stagepost.mass import Kind, MassChange
from stagepost.outcome import Outcome, Waiting
from stagepost.records import Checkpoint, Demand, Filter, ProgressNote, Resume
from stagepost.signals import NewWait, Signal
from stagepost.task import SETTLED, CancelRequest, Lease, Status
from stagepost.versions import Versions
from stagepost.waiting import ChildrenOver, Condition, SignalSent, TimeComes
from support import verbs
from support.alike import ALL, Alike, Verb
from support.crashes import Crash
from support.families import new_batch, page
from support.faults import Fault, When
from support.model import Model
from support.world import (
    EVERYBODY,
    LANES,
    Hand,
    World,
    checkpoint,
    demand,
    new_hand,
    new_id,
    new_task,
    note,
)

VERSIONS = ((2, 1), (1,), (3, 2))
"""Of the code of the workers, one after the other."""


@dataclass(frozen=True)
class Cause:
    """A method of Twins and its arguments, as a failing example prints it."""

    name: str
    arguments: tuple[Any, ...] = ()


class Twins:
    """The causes. A number picks a task among those there are."""

    def __init__(self, world: World, crash: Crash, *, looks_commit: bool) -> None:
        self.world = world
        self.alike = Alike(world, Model(looks_commit=looks_commit), crash)
        self._hands: list[Hand] = []
        self._dead: set[str] = set()
        self._leases: list[Lease] = []

    @property
    def model(self) -> Model:
        """Another one where several were possible; see `Alike`."""
        return self.alike.model

    async def run(self, causes: Sequence[Cause], faults: Sequence[Fault] = ()) -> None:
        """One history, and the crashes in it."""
        self.alike.faults = [*faults]
        for cause in causes:
            self.model.now = max(self.model.now, self.world.clock.now())
            await getattr(self, cause.name)(*cause.arguments)
            await self.alike.let_families_know()
            await self.alike.compare()
        self.alike.faults.clear()
        await self.alike.compare_details()

    # The causes

    async def submit(self, many: int, changes: dict[str, Any]) -> None:
        values = dict(changes)
        if "deadline" in values:
            values["deadline"] += self.model.now
        if "input_size" in values:
            values["input"] = '"' + "x" * values.pop("input_size") + '"'
        news = [new_task(**values) for _ in range(many)]
        await self.both("submit", *map(verbs.submit, news))

    async def claim(self, which: int, slots: int) -> None:
        await self.claim_by(await self.hand(which), slots)

    async def claim_by(self, hand: Hand, slots: int) -> None:
        """A worker takes what the model says."""
        # Whether a parent is ready would else depend on who is quicker, it or this claim.
        await self.alike.let_families_know()
        wanted = demand(hand, slots)
        fault = self.alike.take_fault("claim")
        if fault is not None and fault.when is When.BEFORE:
            await self.alike.crash()
            fault = None
        # Where its looks and the turns that it gives are transactions of their own, more could be
        # found there than can be told apart.
        if fault is not None and fault.when is When.AMID and not self.model.looks_commit:
            await self.claim_amid(wanted, fault.seconds)
            return
        claims = await self.world.store.claim(wanted)
        self.alike.model = self.model_after(wanted, [claimed.task_id for claimed in claims])
        for claimed in claims:
            self.model.claimed(claimed.lease, wanted)
            if fault is None:
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
        if fault is not None:
            # Its worker has died with it.
            self._dead.add(hand.id)
            await self.alike.crash(deaf=True)

    async def claim_amid(self, wanted: Demand, seconds: float) -> None:
        """A worker dies in the middle of its claim."""
        self._dead.add(wanted.worker_id)
        before = deepcopy(self.model)
        await self.alike.crash_amid(self.world.store.claim(wanted), seconds)
        there = {task.id: task.lease for task in await self.world.store.find(EVERYBODY, ALL)}
        ((chosen, done),) = self.model.claims(wanted)
        for lease in filter(None, map(there.get, chosen)):
            done.claimed(lease, wanted)
        self.alike.model = await self.alike.found(done, before)

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
        living = self.model.beats.keys() - self._dead
        alive = [hand for hand in self._hands if hand.id in living]
        if which < len(alive):
            return alive[which]
        versions = {"review": VERSIONS[len(self._hands) % len(VERSIONS)]}
        hand = await self.new_hand(("review",), versions)
        self._hands.append(hand)
        return hand

    async def new_hand(self, types: Sequence[str], versions: Versions) -> Hand:
        """A worker begins to live."""
        hand = new_hand(types=types, versions=versions)
        await self.both("register", verbs.register(hand), again=False)
        return hand

    async def settle(self, which: int, outcomes: list[Outcome], percent: int | None) -> None:
        """Ends of several claims at once; each lease may be stale."""
        leases = self.leases(which, len(outcomes))
        noted = None if percent is None else note(percent, f"{percent} %")
        pairs = zip(leases, outcomes, strict=False)
        await self.both(
            "settle", *(verbs.settle(lease, outcome, noted) for lease, outcome in pairs)
        )

    async def save(self, which: int, steps: list[tuple[Checkpoint, ProgressNote | None]]) -> None:
        """Several checkpoints of one claim at once."""
        for lease in self.leases(which, 1):
            await self.both("checkpoint", *(verbs.save(lease, *step) for step in steps))

    async def spawn(
        self, which: int, path: str, many: int, *, last: bool, detached: bool, late: bool
    ) -> None:
        """A page of children, mostly the next one."""
        for lease in self.leases(which, 1):
            family = self.model.families.live(lease.task_id, path)
            first = 0 if family is None or family.batch.sealed else family.batch.made
            batch = new_batch(path, type="review", lane="interactive", detached=detached)
            wanted = page(batch, many, first + late, last=last)
            parent = self.model.tasks.get(lease.task_id)
            tenants: dict[str, str] = {}
            if parent is not None and not (family and family.batch.sealed):
                tenants = {child_id: parent.tenant for child_id, _ in wanted.children}
            await self.both("spawn", verbs.spawn(lease, wanted, tenants))

    async def parent(
        self,
        which: int,
        path: str,
        many: int,
        how: tuple[str, ...],
    ) -> None:
        """A parent starts children, waits for some, or both."""
        if "waits" not in how:
            detached, late = "detached" in how, "late" in how
            await self.spawn(
                which, path, many, last="open" not in how, detached=detached, late=late
            )
        if "goes on" not in how:
            await self.wait_for_children(which, stop="stop" in how)

    async def family(
        self, which: int, path: str, ends: list[Outcome], how: tuple[str, ...]
    ) -> None:
        """A parent with children, some of which end at once."""
        # Each of these may end somebody's child, and another loop tells the parents.
        await self.claim(which % 2, 1)
        await self.alike.let_families_know()
        parents = self.leases(which, 1)
        await self.parent(which, path, len(ends), how)
        await self.alike.let_families_know()
        for _ in range(3):
            await self.claim(which % 2, 4)
            await self.alike.let_families_know()
        for parent in parents:
            running = [
                task.lease
                for task in self.model.tasks.values()
                if task.parent_id == parent.task_id and task.lease is not None
            ]
            for lease, outcome in zip(running, ends, strict=False):
                await self.both("settle", verbs.settle(lease, outcome))

    async def wait_for_children(self, which: int, *, stop: bool) -> None:
        """A parent waits for one of its batches, or for one that there is not."""
        for lease in self.leases(which, 1):
            paths = [batch.path for batch in self.model.families.of(lease.task_id)] or ["none"]
            condition = ChildrenOver("children", paths[which % len(paths)], stop)
            outcome = Waiting((condition,))
            await self.both("settle", verbs.settle(lease, outcome))

    async def note(self, which: int, notes: list[ProgressNote]) -> None:
        """Progress of several claims at once, and several times of each."""
        leases = self.leases(which, 3)
        await self.both(
            "progress",
            *(verbs.verb("progress", lease, told) for told in notes for lease in leases),
        )

    async def sleep(self, which: int, number: int, seconds: float) -> None:
        """A sleep of a claim begins, or is come to again."""
        for lease in await self.current(which):
            arguments = (lease, f"sleep#{number}", seconds)
            await self.both("sleep", verbs.of_waits("sleep", *arguments))

    async def listen(self, which: int, wait: NewWait, parks: bool) -> None:  # noqa: FBT001
        """A wait of a claim begins, goes on or ends; the claim may then end for it."""
        for lease in await self.current(which):
            await self.both("listen", verbs.of_waits("listen", lease, wait))
            if parks:
                await self._park(lease)
                if self.model.tasks.get(lease.task_id) and which % 2:
                    await self.send_one(lease.task_id, wait.signal, "ada")

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
            await self.both("settle", verbs.settle(lease, outcome))

    async def send(self, which: int, name: str, sender: str, many: int) -> None:
        """Signals, one after the other."""
        for task_id in self.task_ids(which, Status.WAITING if which else Status.RUNNING):
            for _ in range(many):
                await self.send_one(task_id, name, sender)

    async def send_one(self, task_id: str, name: str, sender: str) -> None:
        """One signal."""
        signal = Signal(new_id(), name, "1", sender, ("read",))
        await self.both("send", verbs.send(task_id, signal))

    async def free(self, which: int) -> None:
        """A limit is free that one task may wait for."""
        for task_id in self.task_ids(which, Status.WAITING):
            await self.both("free", verbs.free(task_id))

    async def cancel(self, which: int, by: str) -> None:
        request = CancelRequest(by, "no need")
        for task_id in self.task_ids(which, Status.RUNNING if which else None):
            before, hit = self.model.tasks[task_id], self.alike.hit.total()
            await self.both("cancel", verbs.of_person("cancel", task_id, request))
            heard = self.alike.hit.total() == hit
            if before.status is Status.RUNNING and before.cancel is None and heard:
                assert self.world.bells[-1].cancels == [task_id]

    async def give_up(self, task_id: str) -> None:
        """Somebody cancels a task that can't go on."""
        await self.both(
            "cancel", verbs.of_person("cancel", task_id, CancelRequest("ada", "no end"))
        )

    async def discard(self, which: int) -> None:
        request = CancelRequest("ada", "")
        for task_id in self.task_ids(which, Status.DEAD_LETTER):
            await self.both("discard", verbs.of_person("discard", task_id, request))

    async def redrive(self, which: int, resume: Resume, attempts: int) -> None:
        for task_id in self.task_ids(which, Status.DEAD_LETTER):
            await self.both("redrive", verbs.redrive(task_id, resume, attempts))

    async def change_many(self, kind: Kind) -> None:
        """Redrive, discard or cancel all that there is to be."""
        dead = {Status.DEAD_LETTER}
        statuses = set(Status) - SETTLED if kind is Kind.CANCEL else dead
        of = MassChange(
            id=new_id(), kind=kind, scope=EVERYBODY, by="ada", reason="many",
            where=Filter(statuses=tuple(statuses)), attempts={"review": 2, "translate": 1},
        )  # fmt: skip
        await self.both("begin", verbs.begin(of))
        await self.both("advance", verbs.advance(of), again=False)
        await self.both("stop", verbs.stop(of))

    async def prune(self, older_than: float) -> None:
        await self.both("prune", verbs.prune(older_than))

    async def prune_events(self, older_than: float) -> None:
        await self.both("prune events", verbs.prune_events(older_than))

    async def erase(self, which: int) -> None:
        for task_id in self.task_ids(which, Status.DEAD_LETTER if which % 2 else None):
            await self.both("erase", verbs.erase(task_id, self.model.tasks[task_id].seq))

    async def time_passes(self, seconds: float) -> None:
        self.world.clock.advance(seconds)

    async def beat(self, which: int) -> None:
        hand = await self.hand(which)
        await self.both("beat", verbs.beat(hand.id))

    async def release(self) -> None:
        await self.wholly("release", verbs.release())

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
        await self.wholly("expire", verbs.expire())

    async def rescue(self, older_than: float) -> None:
        await self.wholly("rescue", verbs.rescue(older_than))

    async def restart(self) -> None:
        await self.world.reopen()

    async def crash(self) -> None:
        await self.alike.crash()

    async def both(self, name: str, *wanted: Verb, again: bool = True) -> None:
        """See `Alike`."""
        await self.alike.both(name, *wanted, again=again)

    async def wholly(self, name: str, wanted: Verb) -> None:
        """A verb that does all that there is, in as many rounds as that takes."""
        await self.both(name, verbs.wholly(wanted, wanted.told(deepcopy(self.model))))

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
