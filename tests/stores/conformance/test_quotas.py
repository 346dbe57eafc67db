"""How many tasks of a tenant may wait to start."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from stagepost.errors import IdempotencyMismatch, NotFound, TenantFull
from stagepost.quota import Backlog, Quota
from stagepost.records import Filter, Idempotency, Scope, Submitted
from stagepost.retention import Erasure
from stagepost.task import Status
from support.tasks import failed, succeeded
from support.world import EVERYBODY, Opener, World, a_world, new_task, refused

KEY = Idempotency("submit", "key", "content")


async def limited(world: World, most: int | None = 2, tenant: str = "acme") -> None:
    await world.store.quotas.set(Quota(tenant, most))


async def test_one_more_than_the_quota_is_refused(world: World) -> None:
    await limited(world)
    await world.submit()
    await world.submit(delay=60.0)
    for changes in ({}, {"tags": ("a",)}, {"delay": 5.0}, {"unique_key": "a"}):
        new = new_task(**changes)
        told = await refused(world.store.submit(new), TenantFull)
        assert "2 tasks that wait to start" in str(told)
        await refused(world.view(new.id), NotFound)
        assert await world.store.events(new.id, 0, 10) == []
    assert len(await world.store.find(EVERYBODY, Filter())) == 2


async def test_another_tenant_does_not_notice(world: World) -> None:
    await limited(world, 0)
    await refused(world.submit(), TenantFull)
    await world.submit(tenant="other")


@pytest.mark.parametrize("end", ["claim", "cancel", "expire"])
async def test_what_has_started_or_ended_makes_room(world: World, end: str) -> None:
    await limited(world)
    first = await world.submit(deadline=world.clock.now() + 5_000)
    await world.submit()
    if end == "claim":
        assert len(await world.claim()) == 1
    elif end == "cancel":
        await world.cancel(first)
    else:
        world.clock.advance(5)
        assert await world.store.expire_queued(10) == 1
    await world.submit()
    await refused(world.submit(), TenantFull)


async def test_a_task_that_starts_again_counts_no_more(world: World) -> None:
    await limited(world, 1)
    task_id = await world.settled(failed(None))
    await world.redrive(task_id)
    await world.submit()
    await refused(world.submit(), TenantFull)
    assert await world.status(task_id) is Status.QUEUED


async def test_a_burst_gets_what_there_is_room_for(world: World) -> None:
    await limited(world, 50)
    news = [new_task(priority=n % 3, tags=("a",) if n % 4 else ()) for n in range(80)]
    others = [new_task(tenant="other") for _ in range(20)]
    answers = await asyncio.gather(
        *(world.store.submit(new) for new in news + others), return_exceptions=True
    )
    accepted = [answer for answer in answers[:80] if isinstance(answer, Submitted)]
    assert len(accepted) == 50
    assert all(isinstance(answer, Submitted | TenantFull) for answer in answers[:80])
    assert all(isinstance(answer, Submitted) for answer in answers[80:])
    assert len(await world.store.find(Scope("acme"), Filter(limit=200))) == 50


async def test_room_is_found_wherever_in_a_long_backlog_it_is(world: World) -> None:
    many = 2_500
    await limited(world, many)
    ids = await asyncio.gather(*(world.submit() for _ in range(many)))
    await refused(world.submit(), TenantFull)
    for task_id in sorted(ids)[-3:]:
        await world.cancel(task_id)
    # Each refusal has looked at a page more.
    accepted = 0
    for _ in range(4):
        try:
            await world.submit()
        except TenantFull:
            continue
        accepted += 1
    assert 1 <= accepted <= 3


async def test_a_refused_submit_leaves_its_keys_free(world: World) -> None:
    await limited(world, 1)
    (claimed,) = [await world.running()]
    await world.submit()
    new = new_task(idempotency=KEY, unique_key="a")
    await refused(world.store.submit(new), TenantFull)
    await world.store.settle(claimed.lease, succeeded())
    await world.claim()
    again = await world.store.submit(
        new_task(idempotency=KEY._replace(fingerprint="other"), unique_key="a")
    )
    assert not again.replayed
    await refused(
        world.store.submit(new_task(idempotency=KEY, unique_key="a")), IdempotencyMismatch
    )


async def test_an_earlier_task_is_answered_though_there_is_no_room(world: World) -> None:
    await limited(world, 1)
    first = await world.store.submit(new_task(idempotency=KEY, unique_key="a"))
    for changes in ({"idempotency": KEY}, {"unique_key": "a"}):
        again = await world.store.submit(new_task(**changes))
        assert (again.task_id, again.replayed) == (first.task_id, True)


@pytest.mark.parametrize("erased", [True, False], ids=["erased", "pruned"])
async def test_what_is_not_kept_leaves_the_room_that_there_is(
    world: World, *, erased: bool
) -> None:
    await limited(world, 3)
    retention = world.store.retention
    ids = [await world.submit(delay=60.0) for _ in range(3)]
    for task_id in ids[:2]:
        await world.cancel(task_id)
        if erased:
            seq = (await world.task(task_id)).seq
            await retention.erase(task_id, EVERYBODY, Erasure("eve", seq, "hash"))
    if not erased:
        assert (await retention.prune_tasks("", older_than=0.0, limit=10)).changed == 2
    for _ in range(2):
        await world.submit()
    await refused(world.submit(), TenantFull)
    await world.claim()
    await world.submit()
    await refused(world.submit(), TenantFull)


async def test_what_is_erased_while_others_come_is_counted_once(world: World) -> None:
    await limited(world, 20)
    ids = [await world.submit(delay=60.0) for _ in range(20)]
    for task_id in ids:
        await world.cancel(task_id)
    erasures = [
        world.store.retention.erase(each, EVERYBODY, Erasure("eve", 1, "hash")) for each in ids
    ]
    submits = [world.store.submit(new_task(tags=("a",))) for _ in range(20)]
    answers = await asyncio.gather(*submits, *erasures)
    assert len(answers) == 40
    await refused(world.submit(), TenantFull)
    assert len(await world.claim(3)) == 3
    for _ in range(3):
        await world.submit()
    await refused(world.submit(), TenantFull)


async def test_quotas_change_while_it_runs(world: World) -> None:
    assert await world.store.quotas.get("acme") == Backlog(Quota("acme", None), False, 0)
    await limited(world, 1)
    await world.submit()
    await refused(world.submit(), TenantFull)
    await limited(world, 2)
    await world.submit()
    assert await world.store.quotas.get("acme") == Backlog(Quota("acme", 2), True, 2)
    await world.claim()
    assert (await world.store.quotas.get("acme")).waiting == 1
    await world.store.quotas.unset("acme")
    for _ in range(3):
        await world.submit()
    assert not (await world.store.quotas.get("acme")).own


async def test_quotas_are_listed_by_page_and_kept(world: World) -> None:
    for n in range(5):
        await limited(world, n or None, f"tenant {n}")
    await world.store.quotas.unset("tenant 3")
    await world.store.quotas.unset("never there")
    await world.reopen()
    first = await world.store.quotas.find("", 2)
    assert list(first) == [Quota("tenant 0", None), Quota("tenant 1", 1)]
    rest = await world.store.quotas.find("tenant 1", 10)
    assert list(rest) == [Quota("tenant 2", 2), Quota("tenant 4", 4)]


async def test_the_default_counts_where_a_tenant_has_none(
    open_store: Opener, tmp_path: Path
) -> None:
    async with a_world(partial(open_store, max_queued=1), tmp_path / "data") as world:
        await world.submit()
        await world.submit(tenant="other")
        await refused(world.submit(), TenantFull)
        assert await world.store.quotas.get("acme") == Backlog(Quota("acme", 1), False, 1)
        await limited(world, None)
        await world.submit()
        await refused(world.submit(tenant="other"), TenantFull)


async def test_the_backlog_is_counted_across_a_restart(world: World) -> None:
    await limited(world)
    await world.submit()
    await world.reopen()
    await world.submit()
    await refused(world.submit(), TenantFull)
