"""Nobody sees or changes what another tenant, or another user of the tenant, has."""

import asyncio
from collections.abc import Iterable
from itertools import cycle

from stagepost.errors import Gone, NotFound
from stagepost.records import Filter, Resume, Scope
from stagepost.retention import Erasure
from stagepost.signals import Signal
from stagepost.store import Store
from stagepost.task import CancelRequest, Status, Task
from support.world import refused

ALL = Filter(limit=10_000)
REQUEST = CancelRequest("eve", "")


async def borders_hold(store: Store, tasks: Iterable[Task], gone: Iterable[str]) -> None:
    """Fails where somebody gets at another's task; `tasks` are all that there are."""
    tasks = list(tasks)
    tenants = sorted({task.tenant for task in tasks} | {"nobody"})
    scopes = [Scope(tenant, user) for tenant in tenants for user in (None, "bob")]
    await asyncio.gather(*(_finds_its_own(store, scope, tasks) for scope in scopes))
    strangers = cycle((("nobody", None), (None, "eve"), ("nobody", "ada")))
    pairs = zip(tasks, strangers, strict=False)
    await asyncio.gather(
        *(_is_absent(store, t.id, Scope(tenant or t.tenant, user)) for t, (tenant, user) in pairs)
    )
    if tasks:
        await _cannot_change(store, tasks[-1])
    for task_id in gone:
        assert type(await refused(store.get(task_id, Scope("nobody")), NotFound)) is not Gone
        assert await store.retention.tombstone(task_id, Scope("nobody")) is None


async def _finds_its_own(store: Store, scope: Scope, tasks: list[Task]) -> None:
    own = [task for task in tasks if scope.holds(task)]
    found = await store.find(scope, ALL)
    assert {task.id for task in found} == {task.id for task in own}
    dead = sum(task.status is Status.DEAD_LETTER for task in own)
    assert sum(group.count for group in await store.dead_groups(scope, ALL)) == dead


async def _is_absent(store: Store, task_id: str, scope: Scope) -> None:
    assert type(await refused(store.get(task_id, scope), NotFound)) is not Gone


async def _cannot_change(store: Store, task: Task) -> None:
    signal = Signal("018bcfe5-6800-7000-8000-000000000001", "go", "1", "eve")
    for scope in (Scope("nobody"), Scope(task.tenant, "eve")):
        calls = (
            store.cancel(task.id, scope, REQUEST),
            store.discard(task.id, scope, REQUEST),
            store.redrive(task.id, scope, "eve", Resume(), 1),
            store.waits.send(task.id, scope, signal),
            store.retention.erase(task.id, scope, Erasure("eve", task.seq, "hash")),
        )
        for call in calls:
            await refused(call, NotFound)
