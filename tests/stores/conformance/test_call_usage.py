"""What was spent, by whom and on what: the same sums however they are asked for."""

import asyncio
from datetime import UTC, date, datetime, timedelta

import pytest

from stagepost.calls import Estimate
from stagepost.errors import Unwritable
from stagepost.outcome import Drained
from stagepost.records import Scope
from stagepost.retention import Erasure
from stagepost.spending import Group, Spent, UsageQuery, UsageSum
from support.calls import KEY, answered, refused_call, rejected, result, sent
from support.tasks import succeeded
from support.world import DAY, EVERYBODY, World, refused

SOLID = Spent(calls=1, input=100, cached=20, output=30, reasoning=5, cost=450)
LOST = Spent(calls=1, unknown=1, input=200, output=300, cost=1_000, unknown_cost=1_000)


def today(world: World) -> date:
    return datetime.fromtimestamp(world.clock.now() / 1_000, UTC).date()


async def usage(
    world: World, *by: Group, scope: Scope = EVERYBODY, days: int = 1, **narrower: str
) -> list[UsageSum]:
    last = today(world)
    query = UsageQuery(last - timedelta(days=days - 1), last, by, **narrower)  # type: ignore[arg-type]
    return list(await world.store.calls.usage(scope, query))


async def total(world: World, scope: Scope = EVERYBODY, days: int = 1) -> Spent:
    found = await usage(world, scope=scope, days=days)
    return found[0].spent if found else Spent()


async def test_there_is_none_where_nobody_has_called(world: World) -> None:
    claimed = await world.running()
    await sent(world, claimed)
    assert await usage(world) == await usage(world, "tenant", "model") == []
    assert await world.store.calls.spent(claimed.task_id, EVERYBODY) == Spent()


async def test_every_kind_of_end_counts_in_its_way(world: World) -> None:
    claimed = await world.running()
    await answered(world, claimed)
    await answered(world, claimed, end=rejected())
    await answered(world, claimed, end=refused_call())
    await answered(world, claimed, end=refused_call(maybe_billed=True))
    await answered(world, claimed, end=refused_call(maybe_billed=True, cost=7))
    in_all = Spent(
        calls=5, rejected=1, refused=3, input=600, cached=40, output=660, reasoning=10, cost=1_907
    )
    assert await total(world) == in_all
    assert await world.store.calls.spent(claimed.task_id, EVERYBODY) == in_all


@pytest.mark.parametrize("noted", [False, True])
async def test_what_is_unknown_counts_by_its_estimate_until_it_is_known(
    world: World,
    noted: bool,  # noqa: FBT001
) -> None:
    claimed = await world.running()
    call = await sent(world, claimed)
    await world.store.settle(claimed.lease, Drained())
    if noted:
        assert await world.store.calls.note_unknown(10) == 1
        assert await world.store.calls.note_unknown(10) == 0
    assert await total(world) == LOST
    assert await world.store.calls.spent(claimed.task_id, EVERYBODY) == LOST
    await world.store.calls.end(claimed.task_id, call.id, result())
    assert await total(world) == SOLID
    assert await world.store.calls.spent(claimed.task_id, EVERYBODY) == SOLID


async def test_calls_are_noted_so_many_at_a_time(world: World) -> None:
    claimed = await world.running()
    for _ in range(5):
        await sent(world, claimed)
    assert await world.store.calls.note_unknown(2) == 0
    await world.store.settle(claimed.lease, Drained())
    assert [await world.store.calls.note_unknown(2) for _ in range(4)] == [2, 2, 1, 0]
    found = await total(world)
    assert (found.calls, found.unknown, found.cost) == (5, 5, 5_000)
    assert await world.store.calls.unknown_by_type() == {"review": 5}


async def spread(world: World) -> None:
    """Calls of two tenants, three users, two types and two models."""
    for tenant, user, kind in (
        ("acme", "ada", "review"),
        ("acme", "bob", "review"),
        ("acme", "bob", "summary"),
        ("beta", "eve", "review"),
    ):
        hand = await world.worker(types=(kind,))
        claimed = await world.running(by=hand, tenant=tenant, user=user, type=kind)
        await answered(world, claimed)
        await answered(world, claimed, end=result(cost=50), model="small")
        await sent(world, claimed, model="small", estimate=Estimate(1, 1, 1))
        await world.store.settle(claimed.lease, succeeded())


async def test_it_is_summed_up_by_whatever_is_asked_for(world: World) -> None:
    await spread(world)
    assert (await total(world)).cost == 4 * 501
    by_tenant = await usage(world, "tenant")
    assert [(each.tenant, each.spent.cost) for each in by_tenant] == [
        ("acme", 1_503),
        ("beta", 501),
    ]
    assert {(each.user, each.type, each.model, each.day) for each in by_tenant} == {(None,) * 4}
    by_model = await usage(world, "model")
    assert [(each.provider, each.model, each.spent.cost) for each in by_model] == [
        ("main", "large", 1_800),
        ("main", "small", 204),
    ]
    by_both = await usage(world, "user", "type")
    assert {(each.user, each.type): each.spent.calls for each in by_both} == {
        ("ada", "review"): 3,
        ("bob", "review"): 3,
        ("bob", "summary"): 3,
        ("eve", "review"): 3,
    }
    assert len(await usage(world, "tenant", "user", "type", "model", "day")) == 8
    (reviews,) = await usage(world, type="review")
    assert (reviews.spent.calls, reviews.spent.unknown) == (9, 3)


async def test_what_is_noted_does_not_change_any_sum(world: World) -> None:
    await spread(world)
    groups: list[tuple[Group, ...]] = [(), ("tenant",), ("user", "model"), ("day", "type")]
    before = [await usage(world, *by) for by in groups]
    assert await world.store.calls.note_unknown(3) == 3
    assert [await usage(world, *by) for by in groups] == before
    assert await world.store.calls.note_unknown(3) == 1
    assert [await usage(world, *by) for by in groups] == before


async def test_nobody_sees_what_others_have_spent(world: World) -> None:
    await spread(world)
    assert (await total(world, Scope("acme"))).cost == 1_503
    assert (await total(world, Scope("acme", "bob"))).cost == 1_002
    assert (await total(world, Scope("beta", "bob"))) == Spent()
    assert await usage(world, "model", scope=Scope("gamma")) == []


async def test_a_call_counts_on_the_day_on_which_it_was_begun(world: World) -> None:
    world.clock.advance(DAY - world.clock.now() / 1_000 % DAY - 1)
    claimed = await world.running()
    early = await sent(world, claimed)
    lost = await sent(world, claimed)
    first = today(world)
    world.clock.advance(2)
    await answered(world, claimed, end=result(cost=5))
    await world.store.calls.end(claimed.task_id, early.id, result())
    await world.store.settle(claimed.lease, succeeded())
    by_day = await usage(world, "day", days=2)
    assert [(each.day, each.spent.cost) for each in by_day] == [
        (first + timedelta(days=1), 5),
        (first, 1_450),
    ]
    assert (await total(world)).cost == 5
    await world.store.calls.end(claimed.task_id, lost.id, refused_call())
    assert (await total(world, days=2)).cost == 455


async def test_it_outlives_the_task_and_its_tombstone(world: World) -> None:
    claimed = await world.running()
    await answered(world, claimed)
    await sent(world, claimed)
    await world.store.settle(claimed.lease, succeeded())
    before = await total(world)
    retention = world.store.retention
    await retention.prune_tasks("", older_than=0.0, limit=10)
    assert await total(world) == before
    # Not before what is unknown was noted.
    assert await retention.prune_tombstones(older_than=0.0, limit=10) == 0
    await world.store.calls.note_unknown(10)
    assert await retention.prune_tombstones(older_than=0.0, limit=10) == 1
    assert await total(world) == before
    assert not await world.store.calls.find(claimed.task_id, EVERYBODY, None, 10)
    assert not await world.store.calls.unknown_by_type()


async def test_erasing_takes_nothing_from_it(world: World) -> None:
    claimed = await world.running()
    await answered(world, claimed)
    await world.store.settle(claimed.lease, succeeded())
    wish = Erasure("eve", (await world.task(claimed.task_id)).seq, "hash")
    await world.store.retention.erase(claimed.task_id, EVERYBODY, wish)
    assert await total(world) == SOLID


async def test_each_step_has_its_cost(world: World) -> None:
    claimed = await world.running()
    paths = [f"step#{number}" for number in range(5)]
    for number, path in enumerate(paths):
        for _ in range(number + 1):
            await answered(world, claimed, KEY._replace(path=path))
    await sent(world, claimed)
    page = world.store.calls.spent_by_step
    first = await page(claimed.task_id, EVERYBODY, None, 3)
    rest = await page(claimed.task_id, EVERYBODY, first[-1].path, 3)
    assert [(each.path, each.spent.calls) for each in (*first, *rest)] == [
        (path, number + 1) for number, path in enumerate(paths)
    ]
    in_all = await world.store.calls.spent(claimed.task_id, EVERYBODY)
    assert in_all.cost == sum(each.spent.cost for each in (*first, *rest)) == 15 * 450


async def test_many_ends_at_once_add_up(world: World) -> None:
    await asyncio.gather(*(world.submit() for _ in range(5)))
    claims = await world.claim(5)

    async def one(number: int) -> None:
        await answered(world, claims[number % 5], KEY._replace(n=number), model=f"m{number % 3}")

    await asyncio.gather(*map(one, range(150)))
    assert await total(world) == Spent(
        calls=150, input=15_000, cached=3_000, output=4_500, reasoning=750, cost=67_500
    )


async def test_it_can_be_cut_to_what_cost_most(world: World) -> None:
    await spread(world)
    last = today(world)
    query = UsageQuery(last, last, ("user",), limit=2)
    found = await world.store.calls.usage(EVERYBODY, query)
    assert [each.user for each in found] == ["bob", "ada"]


async def test_it_is_summed_up_by_known_things_only(world: World) -> None:
    with pytest.raises(Unwritable, match="not by moon"):
        UsageQuery(today(world), today(world), ("moon",))  # type: ignore[arg-type]
    far = UsageQuery(date.min, date.max, ("day",))
    assert await world.store.calls.usage(EVERYBODY, far) == []
    await refused(world.store.calls.usage(Scope("no \ud800 text"), far), Unwritable)
