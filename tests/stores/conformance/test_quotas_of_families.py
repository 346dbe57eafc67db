"""What tasks start counts at their tenant's quota; what a batch from outside brings needs room."""

import asyncio

import pytest

from stagepost.errors import NotFound, TenantFull
from stagepost.quota import Quota
from stagepost.records import Filter, Idempotency, Scope, Submitted
from stagepost.retention import Erasure
from stagepost.store import Store
from stagepost.task import Status
from support.families import claim_children, new_batch, page, spawned
from support.tasks import succeeded
from support.world import EVERYBODY, World, new_task, refused

ACME = Scope("acme")
KEY = Idempotency("batches", "key", "content")


async def limited(world: World, most: int | None) -> None:
    await world.store.quotas.set(Quota("acme", most))


async def waiting(world: World) -> int:
    return (await world.store.quotas.get("acme")).waiting


# Children


async def test_children_fill_their_tenants_quota_and_are_never_refused(world: World) -> None:
    await limited(world, 2)
    parent = await world.running()
    batch = await spawned(world, parent.lease, 5)
    assert (batch.made, await waiting(world)) == (5, 5)
    told = await refused(world.submit(), TenantFull)
    assert "2 tasks that wait to start" in str(told)
    await world.submit(tenant="other")
    assert len(await claim_children(world, 4)) == 4
    assert await waiting(world) == 1
    await world.submit()
    await refused(world.submit(), TenantFull)


async def test_a_page_that_is_made_again_counts_once(world: World) -> None:
    await limited(world, 4)
    parent = await world.running()
    wanted = page(new_batch(), 3)
    for _ in range(3):
        await world.store.children.spawn(parent.lease, wanted)
    assert await waiting(world) == 3
    await world.submit()
    await refused(world.submit(), TenantFull)


async def test_children_of_a_tenant_without_a_quota_cost_it_nothing_later(world: World) -> None:
    parent = await world.running()
    await spawned(world, parent.lease, 5)
    await limited(world, 1)
    await world.submit()
    await refused(world.submit(), TenantFull)


async def test_parents_and_submits_at_once_are_counted_together(world: World) -> None:
    await limited(world, 40)
    for _ in range(4):
        await world.submit()
    parents = await world.claim(4)
    spawns = [world.store.children.spawn(parent.lease, page(new_batch(), 5)) for parent in parents]
    submits = [world.store.submit(new_task()) for _ in range(60)]
    answers = await asyncio.gather(*submits, *spawns, return_exceptions=True)
    accepted = sum(isinstance(answer, Submitted) for answer in answers)
    assert 20 <= accepted <= 40
    assert await waiting(world) == accepted + 20
    assert sum(isinstance(answer, TenantFull) for answer in answers) == 60 - accepted
    await refused(world.submit(), TenantFull)


async def test_a_great_fan_out_that_is_over_leaves_room_at_once(world: World) -> None:
    await limited(world, 10)
    parent = await world.running()
    new = new_batch()
    await world.store.children.spawn(parent.lease, page(new, 1_000, last=False))
    await world.store.children.spawn(parent.lease, page(new, 1_000, first=1_000, last=False))
    await world.store.children.spawn(parent.lease, page(new, 600, first=2_000))
    await refused(world.submit(), TenantFull)
    for _ in range(10):
        await claim_children(world, 1_000)
    assert await waiting(world) == 0
    await world.submit()


# Batches from outside


async def test_a_batch_that_its_tenant_has_no_room_for_is_refused_whole(world: World) -> None:
    await limited(world, 10)
    await world.submit(delay=60.0)
    new = new_task(brings=10, idempotency=KEY)
    told = await refused(world.store.submit(new), TenantFull)
    assert "has 10 inputs" in str(told)
    assert "room for 9" in str(told)
    await refused(world.view(new.id), NotFound)
    told = await refused(world.store.submit(new_task(brings=11)), TenantFull)
    assert "smaller batches" in str(told)
    assert len(await world.store.find(EVERYBODY, Filter())) == 1
    await world.store.submit(new_task(brings=9, idempotency=KEY._replace(fingerprint="other")))
    await refused(world.submit(), TenantFull)


async def test_a_batch_has_its_room_until_its_tasks_are_there(world: World) -> None:
    await limited(world, 10)
    parent = await world.running(brings=9)
    assert await waiting(world) == 9
    await refused(world.store.submit(new_task(brings=2)), TenantFull)
    new = new_batch()
    for first, last in ((0, False), (3, False), (6, True)):
        await world.store.children.spawn(parent.lease, page(new, 3, first=first, last=last))
        assert await waiting(world) == 9
        await refused(world.store.submit(new_task(brings=2)), TenantFull)
    assert len(await claim_children(world, 9)) == 9
    assert await waiting(world) == 0
    await world.store.submit(new_task(brings=10))
    await refused(world.submit(), TenantFull)


@pytest.mark.parametrize("end", ["cancelled", "completed", "erased", "pruned"])
async def test_a_batch_that_ends_before_its_tasks_are_there_needs_no_room(
    world: World, end: str
) -> None:
    await limited(world, 5)
    new = new_task(brings=5)
    await world.store.submit(new)
    if end == "completed":
        (parent,) = await world.claim()
        await spawned(world, parent.lease, 2)
        await claim_children(world, 2)
        await world.store.settle(parent.lease, succeeded())
    else:
        await world.cancel(new.id)
    await _taken(world.store, end, new.id, (await world.task(new.id)).seq)
    assert await waiting(world) == 0
    await world.store.submit(new_task(brings=5))
    await refused(world.submit(), TenantFull)


async def _taken(store: Store, end: str, task_id: str, seq: int) -> None:
    if end == "erased":
        await store.retention.erase(task_id, EVERYBODY, Erasure("eve", seq, "hash"))
    elif end == "pruned":
        assert (await store.retention.prune_tasks("", older_than=0.0, limit=10)).changed == 1


async def test_a_batch_that_is_answered_with_an_earlier_one_needs_no_room(world: World) -> None:
    await limited(world, 5)
    first = await world.store.submit(new_task(brings=5, idempotency=KEY))
    again = await world.store.submit(new_task(brings=5, idempotency=KEY))
    assert (again.task_id, again.replayed) == (first.task_id, True)
    assert await waiting(world) == 5


async def test_batches_at_once_never_exceed_the_quota(world: World) -> None:
    await limited(world, 100)
    news = [new_task(brings=n % 7) for n in range(80)]
    answers = await asyncio.gather(
        *(world.store.submit(new) for new in news), return_exceptions=True
    )
    taken = [
        new.size for new, answer in zip(news, answers, strict=True) if isinstance(answer, Submitted)
    ]
    assert sum(taken) == await waiting(world)
    assert 94 < sum(taken) <= 100
    assert all(isinstance(answer, Submitted | TenantFull) for answer in answers)


async def test_what_a_batch_has_still_to_start_is_counted_across_a_restart(world: World) -> None:
    await limited(world, 5)
    new = new_task(brings=4)
    await world.store.submit(new)
    await world.reopen()
    await refused(world.store.submit(new_task(brings=2)), TenantFull)
    await world.submit()
    await refused(world.submit(), TenantFull)
    assert await world.status(new.id) is Status.QUEUED
