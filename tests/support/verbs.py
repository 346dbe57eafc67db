"""The verbs that a store and the model have, and what a caller makes of their answers."""

import asyncio
import time
from collections.abc import Mapping
from operator import methodcaller
from typing import Any

from stagepost.batch import Page
from stagepost.errors import NotFound
from stagepost.mass import MassChange
from stagepost.outcome import Outcome
from stagepost.records import Checkpoint, NewTask, ProgressNote, Resume
from stagepost.retention import Erasure
from stagepost.signals import Signal
from stagepost.store import Store
from stagepost.task import Lease
from support.alike import Verb
from support.model import Model
from support.waiting import PATIENCE
from support.world import EVERYBODY, Hand, new_id, record_of

_AGAIN = 0.005  # seconds


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


def register(hand: Hand) -> Verb:
    """A worker begins to live."""
    return Verb(
        methodcaller("register", record_of(hand)),
        methodcaller("register", hand.id),
    )


def beat(worker_id: str) -> Verb:
    """A worker lives on."""

    async def call(store: Store) -> object:
        beat = await store.beat(worker_id, "running")
        return beat.known, dict(beat.cancels)

    return Verb(call, methodcaller("beat", worker_id))


def spawn(lease: Lease, wanted: Page, tenants: Mapping[str, str]) -> Verb:
    """A page of children; `tenants` are those of the ones that will be made."""
    return Verb(
        lambda store: store.children.spawn(lease, wanted),
        methodcaller("spawn", lease, wanted),
        heard=lambda heard, _: heard.accepted.update(tenants),
    )


def send(task_id: str, signal: Signal) -> Verb:
    """A signal for a task."""
    return Verb(
        lambda store: store.waits.send(task_id, EVERYBODY, signal),
        methodcaller("send", task_id, signal),
    )


def free(task_id: str) -> Verb:
    """A limit is free for which a task waits."""

    async def call(store: Store) -> object:
        return list(await store.limits.wake([task_id]))

    return Verb(call, methodcaller("free", task_id))


def begin(of: MassChange) -> Verb:
    """A change of many tasks begins; who does not know whether it has looks."""

    async def call(store: Store) -> None:
        try:
            await store.mass.progress(of.id, of.kind, EVERYBODY)
        except NotFound:
            await store.mass.begin(of)

    return Verb(call, silent)


def advance(of: MassChange) -> Verb:
    """All of its tasks are changed."""

    async def call(store: Store) -> object:
        return (await store.mass.advance(of.id)).progress.sent

    return Verb(call, methodcaller("change_many", of))


def stop(of: MassChange) -> Verb:
    """No further one is."""

    async def call(store: Store) -> None:
        await store.mass.stop(of.id, of.kind, EVERYBODY, "the model goes on by itself")

    return Verb(call, silent)


def prune(older_than: float) -> Verb:
    """Take what ended so long ago."""

    async def call(store: Store) -> object:
        page = await store.retention.prune_tasks("", older_than=older_than, limit=10_000)
        return page.changed

    return Verb(call, methodcaller("prune", older_than))


def prune_events(older_than: float) -> Verb:
    """Take the events of what ended so long ago."""

    async def call(store: Store) -> object:
        page = await store.retention.prune_events("", older_than=older_than, limit=10_000)
        return page.changed

    return Verb(call, methodcaller("prune_events", older_than))


def erase(task_id: str, seq: int) -> Verb:
    """Take one task, as it was seen."""

    async def call(store: Store) -> None:
        await store.retention.erase(task_id, EVERYBODY, Erasure("eve", seq, "hash"))

    return Verb(call, methodcaller("erase", task_id))


def release() -> Verb:
    """Do what is due."""
    return Verb(lambda store: store.release_due(10_000), methodcaller("release_due"))


def expire() -> Verb:
    """Dead-letter what is too late."""
    return Verb(lambda store: store.expire_queued(10_000), methodcaller("expire_queued"))


def wholly(verb: Verb, many: object) -> Verb:
    """The same until it has done as many as there are.

    A store may pass over a task that another loop of its own has in hand, for the next round.
    """

    async def call(store: Store) -> object:
        limit = time.monotonic() + PATIENCE
        done = await verb.call(store)
        while done != many and time.monotonic() < limit:
            await asyncio.sleep(_AGAIN)
            done = _sum(done, await verb.call(store))
        return done

    return verb._replace(call=call, repeat=verb)


def _sum(one: Any, other: Any) -> object:
    if isinstance(one, int):
        return one + other
    return tuple(mine | theirs for mine, theirs in zip(one, other, strict=True))


def rescue(older_than: float) -> Verb:
    """Give back what silent workers hold."""

    async def call(store: Store) -> object:
        rescue = await store.rescue(older_than=older_than)
        return set(rescue.workers), set(rescue.tasks)

    return Verb(call, methodcaller("rescue", older_than))
