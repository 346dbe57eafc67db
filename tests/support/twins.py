"""A real store and the model, doing the same: every cause goes to both and they are compared."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from operator import methodcaller
from typing import Any

from stagepost.errors import NotFound
from stagepost.mass import Kind, MassChange
from stagepost.outcome import Outcome, Waiting
from stagepost.records import Checkpoint, Demand, Filter, NewTask, ProgressNote, Resume
from stagepost.retention import Erasure
from stagepost.signals import NewWait, Signal
from stagepost.store import Store
from stagepost.task import SETTLED, CancelRequest, Lease, Status
from stagepost.versions import Versions
from stagepost.waiting import ChildrenOver, Condition, SignalSent, TimeComes
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
    record_of,
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
        await self.both("submit", *map(submit, news))

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
        record = record_of(hand)
        await self.both(
            "register",
            Verb(lambda store: store.register(record), methodcaller("register", hand.id)),
            again=False,
        )
        return hand

    async def settle(self, which: int, outcomes: list[Outcome], percent: int | None) -> None:
        """Ends of several claims at once; each lease may be stale."""
        leases = self.leases(which, len(outcomes))
        noted = None if percent is None else note(percent, f"{percent} %")
        pairs = zip(leases, outcomes, strict=False)
        await self.both("settle", *(settle(lease, outcome, noted) for lease, outcome in pairs))

    async def save(self, which: int, steps: list[tuple[Checkpoint, ProgressNote | None]]) -> None:
        """Several checkpoints of one claim at once."""
        for lease in self.leases(which, 1):
            await self.both("checkpoint", *(save(lease, *step) for step in steps))

    async def spawn(
        self, which: int, path: str, many: int, *, last: bool, detached: bool, late: bool
    ) -> None:
        """A page of children, mostly the next one."""
        for lease in self.leases(which, 1):
            family = self.model.families.live(lease.task_id, path)
            first = 0 if family is None or family.batch.sealed else family.batch.made
            batch = new_batch(path, type="review", lane="interactive", detached=detached)
            wanted = page(batch, many, first + late, last=last)
            made = [] if family is not None and family.batch.sealed else wanted.children
            ids = [child_id for child_id, _ in made]
            await self.both(
                "spawn",
                Verb(
                    lambda store: store.children.spawn(lease, wanted),  # noqa: B023
                    methodcaller("spawn", lease, wanted),
                    heard=lambda heard, _: heard.accepted.update(
                        dict.fromkeys(ids, self.model.tasks[lease.task_id].tenant)  # noqa: B023
                    ),
                ),
            )

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
                await self.both("settle", settle(lease, outcome))

    async def wait_for_children(self, which: int, *, stop: bool) -> None:
        """A parent waits for one of its batches, or for one that there is not."""
        for lease in self.leases(which, 1):
            paths = [batch.path for batch in self.model.families.of(lease.task_id)] or ["none"]
            condition = ChildrenOver("children", paths[which % len(paths)], stop)
            outcome = Waiting((condition,))
            await self.both("settle", settle(lease, outcome))

    async def note(self, which: int, notes: list[ProgressNote]) -> None:
        """Progress of several claims at once, and several times of each."""
        leases = self.leases(which, 3)
        await self.both(
            "progress",
            *(verb("progress", lease, told) for told in notes for lease in leases),
        )

    async def sleep(self, which: int, number: int, seconds: float) -> None:
        """A sleep of a claim begins, or is come to again."""
        for lease in await self.current(which):
            arguments = (lease, f"sleep#{number}", seconds)
            await self.both("sleep", of_waits("sleep", *arguments))

    async def listen(self, which: int, wait: NewWait, parks: bool) -> None:  # noqa: FBT001
        """A wait of a claim begins, goes on or ends; the claim may then end for it."""
        for lease in await self.current(which):
            await self.both("listen", of_waits("listen", lease, wait))
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
            await self.both("settle", settle(lease, outcome))

    async def send(self, which: int, name: str, sender: str, many: int) -> None:
        """Signals, one after the other."""
        for task_id in self.task_ids(which, Status.WAITING if which else Status.RUNNING):
            for _ in range(many):
                await self.send_one(task_id, name, sender)

    async def send_one(self, task_id: str, name: str, sender: str) -> None:
        """One signal."""
        signal = Signal(new_id(), name, "1", sender, ("read",))
        await self.both(
            "send",
            Verb(
                lambda store: store.waits.send(task_id, EVERYBODY, signal),
                methodcaller("send", task_id, signal),
            ),
        )

    async def free(self, which: int) -> None:
        """A limit is free that one task may wait for."""
        for task_id in self.task_ids(which, Status.WAITING):

            async def wake(store: Store, task_id: str = task_id) -> object:
                return list(await store.limits.wake([task_id]))

            await self.both("free", Verb(wake, methodcaller("free", task_id)))

    async def cancel(self, which: int, by: str) -> None:
        request = CancelRequest(by, "no need")
        for task_id in self.task_ids(which, Status.RUNNING if which else None):
            before, hit = self.model.tasks[task_id], self.alike.hit.total()
            await self.both("cancel", of_person("cancel", task_id, request))
            heard = self.alike.hit.total() == hit
            if before.status is Status.RUNNING and before.cancel is None and heard:
                assert self.world.bells[-1].cancels == [task_id]

    async def give_up(self, task_id: str) -> None:
        """Somebody cancels a task that can't go on."""
        await self.both("cancel", of_person("cancel", task_id, CancelRequest("ada", "no end")))

    async def discard(self, which: int) -> None:
        request = CancelRequest("ada", "")
        for task_id in self.task_ids(which, Status.DEAD_LETTER):
            await self.both("discard", of_person("discard", task_id, request))

    async def redrive(self, which: int, resume: Resume, attempts: int) -> None:
        for task_id in self.task_ids(which, Status.DEAD_LETTER):
            await self.both("redrive", redrive(task_id, resume, attempts))

    async def change_many(self, kind: Kind) -> None:
        """Redrive, discard or cancel all that there is to be."""
        dead = {Status.DEAD_LETTER}
        statuses = set(Status) - SETTLED if kind is Kind.CANCEL else dead
        of = MassChange(
            id=new_id(), kind=kind, scope=EVERYBODY, by="ada", reason="many",
            where=Filter(statuses=tuple(statuses)), attempts={"review": 2, "translate": 1},
        )  # fmt: skip

        async def begin(store: Store) -> None:
            # Who does not know whether it was begun looks.
            try:
                await store.mass.progress(of.id, kind, EVERYBODY)
            except NotFound:
                await store.mass.begin(of)

        async def advance(store: Store) -> object:
            return (await store.mass.advance(of.id)).progress.sent

        async def stop(store: Store) -> None:
            await store.mass.stop(of.id, kind, EVERYBODY, "the model goes on by itself")

        await self.both("begin", Verb(begin, silent))
        await self.both("advance", Verb(advance, methodcaller("change_many", of)), again=False)
        await self.both("stop", Verb(stop, silent))

    async def prune(self, older_than: float) -> None:
        async def prune(store: Store) -> object:
            page = await store.retention.prune_tasks("", older_than=older_than, limit=10_000)
            return page.changed

        await self.both("prune", Verb(prune, methodcaller("prune", older_than)))

    async def prune_events(self, older_than: float) -> None:
        async def prune(store: Store) -> object:
            page = await store.retention.prune_events("", older_than=older_than, limit=10_000)
            return page.changed

        await self.both("prune events", Verb(prune, methodcaller("prune_events", older_than)))

    async def erase(self, which: int) -> None:
        for task_id in self.task_ids(which, Status.DEAD_LETTER if which % 2 else None):
            wish = Erasure("eve", self.model.tasks[task_id].seq, "hash")

            async def erase(store: Store, task_id: str = task_id, wish: Erasure = wish) -> None:
                await store.retention.erase(task_id, EVERYBODY, wish)

            await self.both("erase", Verb(erase, methodcaller("erase", task_id)))

    async def time_passes(self, seconds: float) -> None:
        self.world.clock.advance(seconds)

    async def beat(self, which: int) -> None:
        hand = await self.hand(which)

        async def beat(store: Store) -> object:
            beat = await store.beat(hand.id, "running")
            return beat.known, dict(beat.cancels)

        await self.both("beat", Verb(beat, methodcaller("beat", hand.id)))

    async def release(self) -> None:
        await self.both(
            "release",
            Verb(lambda store: store.release_due(10_000), methodcaller("release_due")),
        )

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
        await self.both(
            "expire",
            Verb(lambda store: store.expire_queued(10_000), methodcaller("expire_queued")),
        )

    async def rescue(self, older_than: float) -> None:
        async def rescue(store: Store) -> object:
            rescue = await store.rescue(older_than=older_than)
            return set(rescue.workers), set(rescue.tasks)

        await self.both("rescue", Verb(rescue, methodcaller("rescue", older_than)))

    async def restart(self) -> None:
        await self.world.reopen()

    async def crash(self) -> None:
        await self.alike.crash()

    async def both(self, name: str, *verbs: Verb, again: bool = True) -> None:
        """See `Alike`."""
        await self.alike.both(name, *verbs, again=again)

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


def verb(name: str, *arguments: Any) -> Verb:
    """A verb that the model has as the store has it."""
    return Verb(methodcaller(name, *arguments), methodcaller(name, *arguments))


def submit(new: NewTask) -> Verb:
    """A submit; by its keys it is known again, and without any by its id."""
    if new.idempotency is not None or new.unique_key is not None:
        repeat = verb("submit", new._replace(id=new_id()))
    else:

        async def look(store: Store) -> object:
            return (await store.get(new.id, EVERYBODY)).task

        repeat = Verb(look, lambda model: model.tasks[new.id])
    return verb("submit", new)._replace(
        repeat=repeat,
        heard=lambda heard, answer: heard.accepted.update({answer.task_id: new.tenant}),
    )


def settle(lease: Lease, outcome: Outcome, noted: ProgressNote | None = None) -> Verb:
    """The end of a claim."""
    return verb("settle", lease, outcome, noted)._replace(
        heard=lambda heard, _: heard.end(lease.task_id, outcome)
    )


def save(lease: Lease, step: Checkpoint, noted: ProgressNote | None) -> Verb:
    """A step is saved."""
    return verb("checkpoint", lease, step, noted)._replace(
        heard=lambda heard, _: heard.step(lease.task_id, step)
    )


def redrive(task_id: str, resume: Resume, attempts: int) -> Verb:
    """Somebody sends a dead letter back."""
    return of_person("redrive", task_id, "ada", resume, attempts)._replace(
        heard=lambda heard, _: heard.redrive(task_id, resume)
    )


def of_waits(name: str, *arguments: Any) -> Verb:
    """One of the verbs of sleeps and signals."""
    call = methodcaller(name, *arguments)
    return Verb(lambda store: call(store.waits), methodcaller(name, *arguments))


def of_person(name: str, task_id: str, *arguments: Any) -> Verb:
    """One of the verbs that have a scope."""
    return Verb(
        methodcaller(name, task_id, EVERYBODY, *arguments), methodcaller(name, task_id, *arguments)
    )


def silent(_: Model) -> None:
    """What one does not see in any task."""
