"""Whose turn it is among the tenants of a lane."""

import asyncio
from collections import Counter

import pytest

from stagepost.records import Claimed, Filter, Scope
from stagepost.rules import Rule, RuleKind
from stagepost.task import Status
from support.tasks import succeeded
from support.world import Hand, World


def tenants(claims: list[Claimed]) -> list[str]:
    return [claimed.tenant for claimed in claims]


async def fill(world: World, many: int, **changes: object) -> None:
    """Many tasks, a thousand at a time."""
    for start in range(0, many, 1_000):
        await asyncio.gather(*(world.submit(**changes) for _ in range(min(1_000, many - start))))


async def settle_all(world: World, claims: list[Claimed]) -> None:
    await asyncio.gather(*(world.store.settle(claim.lease, succeeded()) for claim in claims))


async def test_a_tenant_with_one_task_is_not_behind_another_ones_backlog(world: World) -> None:
    await fill(world, 3_000, tenant="large")
    hand = await world.worker()
    await settle_all(world, await world.claim(20, by=hand))
    small = await world.submit(tenant="small")
    assert (await world.view(small)).position == 2
    next_two = [await world.claim(1, by=hand), await world.claim(1, by=hand)]
    assert small in [claim.task_id for claims in next_two for claim in claims]


@pytest.mark.parametrize("most", [None, 5])
async def test_what_is_too_late_costs_its_tenant_turns_within_the_claim(
    world: World, most: int | None
) -> None:
    await world.store.rules.put(Rule(RuleKind.TYPE, "review", concurrency=most))
    await fill(world, 40, tenant="acme", deadline=world.clock.now() + 5_000)
    await fill(world, 1, tenant="acme")
    waits = await world.submit(tenant="bolt")
    world.clock.advance(5)
    hand = await world.worker()
    (claimed,) = await world.claim(1, by=hand)
    assert claimed.task_id == waits
    late = await world.store.find(Scope("acme"), Filter(statuses=(Status.DEAD_LETTER,)))
    assert len(late) == 1


async def test_a_tenant_alone_in_its_lane_pays_for_no_turns_though_another_is_shared(
    world: World,
) -> None:
    # While it is alone, what it takes costs nothing: when another comes it is not behind.
    for tenant in ("bolt", "crane"):
        await world.submit(tenant=tenant, lane="batch")
    await fill(world, 4, tenant="acme")
    hand = await world.worker()
    assert Counter(tenants(await world.claim(6, by=hand))) == {"acme": 4, "bolt": 1, "crane": 1}
    for tenant in ("acme", "bolt", "acme", "bolt"):
        await world.submit(tenant=tenant)
    alone = await world.worker(lanes={"interactive": 1})
    assert tenants(await world.claim(1, by=alone)) == ["acme"]
    assert tenants(await world.claim(1, by=alone)) == ["bolt"]


async def test_ten_tenants_get_equal_shares_whatever_they_have(world: World) -> None:
    for number in range(10):
        await fill(world, 60 + 20 * number, tenant=f"tenant-{number}")
    hands = [await world.worker() for _ in range(3)]
    taken: Counter[str] = Counter()
    for turn in range(57):
        claims = await world.claim(1 + turn % 17, by=hands[turn % 3])
        taken.update(tenants(claims))
        await settle_all(world, claims)
    assert sum(taken.values()) > 400
    mean = sum(taken.values()) / 10
    assert all(abs(taken[f"tenant-{number}"] - mean) <= 0.05 * mean for number in range(10)), taken


async def test_tenants_share_by_their_weights(world: World) -> None:
    await world.store.rules.put(Rule(RuleKind.TENANT, "heavy", weight=3))
    for tenant in ("heavy", "light"):
        await fill(world, 60, tenant=tenant)
    taken = Counter(
        tenants([*await world.claim(8), *await world.claim(20), *await world.claim(12)])
    )
    assert taken == {"heavy": 30, "light": 10}


async def test_a_weight_counts_from_the_next_claim(world: World) -> None:
    for tenant in ("one", "other"):
        await fill(world, 60, tenant=tenant)
    assert Counter(tenants(await world.claim(20))) == {"one": 10, "other": 10}
    await world.store.rules.put(Rule(RuleKind.TENANT, "one", weight=4))
    assert Counter(tenants(await world.claim(50))) == {"one": 40, "other": 10}


async def test_a_tenant_that_comes_back_has_saved_up_nothing(world: World) -> None:
    await fill(world, 40, tenant="busy")
    await fill(world, 40, tenant="steady")
    await world.claim(40)
    await fill(world, 40, tenant="newcomer")
    taken = Counter(tenants(await world.claim(30)))
    # It comes in at the turn that was the last one.
    assert taken["newcomer"] in {10, 11}
    assert min(taken.values()) >= 9


async def test_priority_never_crosses_tenants(world: World) -> None:
    await fill(world, 5, tenant="modest")
    await fill(world, 20, tenant="pushy", priority=86_400)
    taken = Counter(tenants(await world.claim(10)))
    assert taken == {"modest": 5, "pushy": 5}


async def test_types_of_one_tenant_are_one_queue_to_it(world: World) -> None:
    expected = []
    for number in range(6):
        expected.append(await world.submit(type=("review", "translate")[number % 2]))
        await world.submit(tenant="other")
        world.clock.advance(0.001)
    hand = await world.worker(types=["review", "translate"])
    claims = await world.claim(10, by=hand)
    assert Counter(tenants(claims)) == {"acme": 5, "other": 5}
    assert [claim.task_id for claim in claims if claim.tenant == "acme"] == expected[:5]


async def test_more_tenants_than_a_claim_looks_at_are_all_served(world: World) -> None:
    await asyncio.gather(*(world.submit(tenant=f"tenant-{number}") for number in range(700)))
    hand = await world.worker()
    seen: set[str] = set()
    for _ in range(400):
        claims = await world.claim(4, by=hand)
        if not claims:
            break
        seen.update(tenants(claims))
    assert len(seen) == 700


async def test_no_tenant_waits_for_ever_behind_a_crowd(world: World) -> None:
    """Those whose names come first are given more and more."""
    await asyncio.gather(*(world.submit(tenant=f"m-{number}") for number in range(300)))
    last = await world.submit(tenant="z")
    hand = await world.worker()
    for _ in range(200):
        claims = await world.claim(4, by=hand)
        if last in [claim.task_id for claim in claims]:
            return
        await asyncio.gather(*(world.submit(tenant=claim.tenant) for claim in claims))
    pytest.fail("the last tenant was passed over 200 times")


async def test_a_backlog_of_a_type_that_nobody_has_is_passed_over(world: World) -> None:
    await fill(world, 2_000, type="foreign")
    mine = await world.submit()
    hand = await world.worker(types=["review"])
    assert [claim.task_id for claim in await world.claim(5, by=hand)] == [mine]


async def test_positions_count_the_turns_of_others(world: World) -> None:
    await fill(world, 3, tenant="large")
    await fill(world, 1, tenant="tiny")
    places = [await world.submit(tenant="acme") for _ in range(4)]
    found = [(await world.view(task_id)).position for task_id in places]
    # Before the first are one of each other tenant, before the second two of the large one, ...
    assert found == [3, 5, 7, 8]


@pytest.mark.parametrize("step", [1, 4])
async def test_a_backlog_has_the_places_that_are_counted(world: World, step: int) -> None:
    await fill(world, 30, tenant="large")
    await fill(world, 5, tenant="tiny")
    await fill(world, 7, tenant="tiny", type="echo")
    await fill(world, 3, tenant="large", lane="batch")
    ids = []
    for priority in (0, 3, 0, 0, 1, 0, 0, 0, 0):
        world.clock.advance(0.7)
        ids.append(await world.submit(tenant="acme", priority=priority))
    await world.submit(tenant="acme", concurrency_key="held")
    backlog = await world.store.backlog("interactive", step)
    many = Counter[str]()
    for stretch in backlog.stretches:
        assert len(stretch.marks) == stretch.many // step
        assert list(stretch.marks) == sorted(stretch.marks)
        many[stretch.tenant] += stretch.many
    assert many == {"large": 30, "tiny": 12, "acme": 10}
    found = []
    for view in [await world.view(task_id) for task_id in ids]:
        assert view.position is not None
        assert view.task.pooled_at is not None
        score = view.task.pooled_at - view.task.priority * 1000
        found.append((view.position, backlog.place("acme", score)))
    # Before each are as many of either other tenant as of its own, and one more.
    assert sorted(found) == [(3 * n + 3, 3 * (n - n % step) + 3) for n in range(9)]
    await world.claim(1)
    assert sum(each.many for each in (await world.store.backlog("interactive", 4)).stretches) == 51


async def test_a_lane_without_tasks_has_no_backlog(world: World) -> None:
    assert list((await world.store.backlog("interactive", 1_000)).stretches) == []


async def test_the_places_of_tenants_outlive_a_restart(world: World) -> None:
    await fill(world, 20, tenant="heavy")
    await fill(world, 20, tenant="light")
    await world.store.rules.put(Rule(RuleKind.TENANT, "heavy", weight=9))
    hand = await world.worker()
    first = tenants(await world.claim(5, by=hand))
    await world.reopen()
    second = tenants(await world.claim(5, by=await world.worker()))
    assert Counter(first + second) == {"heavy": 9, "light": 1}


async def test_several_workers_share_one_line(world: World) -> None:
    for tenant in ("one", "other"):
        await fill(world, 200, tenant=tenant)
    hands = [await world.worker() for _ in range(4)]

    async def work(hand: Hand) -> list[str]:
        taken: list[str] = []
        for _ in range(10):
            claims = await world.claim(5, by=hand)
            taken += tenants(claims)
            await settle_all(world, claims)
        return taken

    taken = [tenant for many in await asyncio.gather(*map(work, hands)) for tenant in many]
    assert len(taken) == 200
    assert 95 <= Counter(taken)["one"] <= 105
