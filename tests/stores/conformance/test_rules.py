"""What an operator says of lanes, types and tenants, and how claims keep to it."""

import asyncio
from collections import Counter
from dataclasses import replace

import pytest

from stagepost.outcome import Drained
from stagepost.records import Claimed
from stagepost.rules import Rule, RuleKind, Running
from support.tasks import failed, succeeded, waiting
from support.waiting import PATIENCE
from support.world import Hand, World, demand, standing

LANE, TYPE, TENANT = RuleKind.LANE, RuleKind.TYPE, RuleKind.TENANT


async def limit(world: World, kind: RuleKind, name: str, concurrency: int | None) -> None:
    await world.store.rules.put(Rule(kind, name, concurrency=concurrency))


async def fill(world: World, many: int, **changes: object) -> None:
    await asyncio.gather(*(world.submit(**changes) for _ in range(many)))


async def settle(world: World, *claims: Claimed) -> None:
    for claim in claims:
        await world.store.settle(claim.lease, succeeded())


async def test_a_rule_says_nothing_before_it_is_made(world: World) -> None:
    rules = world.store.rules
    assert await rules.get(LANE, "batch") == Rule(LANE, "batch")
    assert await rules.find(LANE) == []


async def test_rules_are_kept_by_kind_and_name(world: World) -> None:
    rules = world.store.rules
    made = [
        Rule(LANE, "batch", concurrency=7),
        Rule(TYPE, "batch", concurrency=0),
        Rule(TENANT, "acme", weight=3, key_concurrency=2),
        Rule(TENANT, "bolt", weight=2),
    ]
    for rule in made:
        assert await rules.put(rule) == rule
    await world.reopen()
    rules = world.store.rules
    assert [await rules.get(rule.kind, rule.name) for rule in made] == made
    assert await rules.find(TENANT) == made[2:]
    assert await rules.find(TENANT, after="acme") == made[3:]
    assert await rules.find(TENANT, limit=1) == made[2:3]


async def test_a_rule_that_says_nothing_is_not_kept(world: World) -> None:
    rules = world.store.rules
    await rules.put(Rule(TENANT, "acme", weight=3))
    await rules.put(Rule(TENANT, "acme"))
    assert await rules.find(TENANT) == []


async def test_a_pause_and_a_limit_do_not_undo_each_other(world: World) -> None:
    rules = world.store.rules
    assert (await rules.pause(LANE, "batch", paused=True)).paused
    assert await rules.put(Rule(LANE, "batch", concurrency=2)) == Rule(
        LANE, "batch", concurrency=2, paused=True
    )
    assert await rules.pause(LANE, "batch", paused=False) == Rule(LANE, "batch", concurrency=2)


@pytest.mark.parametrize(("kind", "name"), [(LANE, "interactive"), (TYPE, "review")])
async def test_what_is_paused_starts_nothing(world: World, kind: RuleKind, name: str) -> None:
    running = await world.running()
    await world.store.rules.pause(kind, name, paused=True)
    queued = await world.submit()
    other = await world.submit(lane="batch", type="translate")
    hand = await world.worker(types=["review", "translate"])
    assert [claim.task_id for claim in await world.claim(9, by=hand)] == [other]
    # What runs goes on.
    await settle(world, running)
    await world.store.rules.pause(kind, name, paused=False)
    assert [claim.task_id for claim in await world.claim(9, by=hand)] == [queued]


async def test_a_waiting_claim_is_served_when_a_lane_is_resumed(world: World) -> None:
    await world.store.rules.pause(LANE, "interactive", paused=True)
    await world.submit()
    claim = await standing(world.claim(wait=60.0))
    await world.store.rules.pause(LANE, "interactive", paused=False)
    async with asyncio.timeout(PATIENCE):
        assert len(await claim) == 1


@pytest.mark.parametrize(
    ("kind", "name"), [(LANE, "interactive"), (TYPE, "review"), (TENANT, "acme")]
)
async def test_a_limit_counts_what_runs_anywhere(world: World, kind: RuleKind, name: str) -> None:
    await limit(world, kind, name, 3)
    await fill(world, 8)
    hands = [await world.worker(), await world.worker()]
    first = await world.claim(2, by=hands[0])
    second = await world.claim(8, by=hands[1])
    assert (len(first), len(second)) == (2, 1)
    assert await world.claim(8, by=hands[0]) == []
    await settle(world, *first)
    assert len(await world.claim(8, by=hands[0])) == 2
    await limit(world, kind, name, None)
    assert len(await world.claim(8, by=hands[0])) == 3


async def test_what_runs_is_told_as_limits_count_it(world: World) -> None:
    hand = await world.worker(types=["review", "scan"])
    assert list(await world.store.rules.running()) == []
    await fill(world, 2, tenant="acme")
    await fill(world, 1, tenant="bolt", type="scan", lane="batch")
    claims = await world.claim(3, by=hand)
    assert sorted(await world.store.rules.running()) == [
        Running("batch", "bolt", "scan", 1), Running("interactive", "acme", "review", 2),
    ]  # fmt: skip
    await settle(world, *claims)
    assert list(await world.store.rules.running()) == []


@pytest.mark.parametrize("outcome", [failed(5.0), waiting(60.0), Drained()])
async def test_every_end_of_a_claim_makes_room(world: World, outcome: object) -> None:
    await limit(world, TYPE, "review", 1)
    claimed = await world.running()
    await world.submit()
    assert await world.claim() == []
    await world.store.settle(claimed.lease, outcome)  # type: ignore[arg-type]
    assert len(await world.claim(9)) == 1


async def test_the_claims_of_a_lost_worker_make_room(world: World) -> None:
    await limit(world, LANE, "interactive", 2)
    await fill(world, 4)
    assert len(await world.claim(9)) == 2
    await world.lose()
    assert len(await world.claim(9)) == 2


async def test_a_limit_lets_others_pass(world: World) -> None:
    await limit(world, TENANT, "large", 2)
    await fill(world, 50, tenant="large")
    await fill(world, 5, tenant="small")
    taken = Counter(claim.tenant for claim in await world.claim(20))
    assert taken == {"large": 2, "small": 5}


async def test_a_limit_of_zero_starts_nothing(world: World) -> None:
    await limit(world, TYPE, "review", 0)
    await world.submit()
    assert await world.claim() == []


async def test_a_type_across_two_lanes_has_one_limit(world: World) -> None:
    await limit(world, TYPE, "review", 5)
    await fill(world, 9)
    await fill(world, 9, lane="batch")
    assert len(await world.claim(18)) == 5


async def test_all_limits_hold_at_once(world: World) -> None:
    await limit(world, LANE, "interactive", 6)
    await limit(world, TYPE, "review", 4)
    await limit(world, TENANT, "acme", 3)
    for tenant in ("acme", "bolt"):
        for name in ("review", "translate"):
            await fill(world, 10, tenant=tenant, type=name)
    hand = await world.worker(types=["review", "translate"])
    claims = [*await world.claim(5, by=hand), *await world.claim(30, by=hand)]
    assert len(claims) == 6
    assert Counter(claim.type for claim in claims)["review"] <= 4
    assert Counter(claim.tenant for claim in claims)["acme"] <= 3


async def test_the_limit_of_a_types_code_holds_until_a_rule_says_otherwise(world: World) -> None:
    await fill(world, 9)
    hand = await world.worker()
    wanted = replace(demand(hand, 9), limits={"review": 2})
    assert len(await world.store.claim(wanted)) == 2
    assert await world.store.claim(wanted) == ()
    await limit(world, TYPE, "review", 5)
    assert len(await world.store.claim(wanted)) == 3


async def test_a_waiting_claim_is_served_when_there_is_room(world: World) -> None:
    await limit(world, TYPE, "review", 1)
    claimed = await world.running()
    await world.submit()
    claim = await standing(world.claim(by=await world.worker(), wait=60.0))
    await settle(world, claimed)
    async with asyncio.timeout(PATIENCE):
        assert len(await claim) == 1


async def test_a_limit_is_never_passed_however_many_ask(world: World) -> None:
    await limit(world, TYPE, "review", 5)
    await fill(world, 120)
    hands = [await world.worker() for _ in range(6)]
    running: set[str] = set()
    done: list[str] = []

    async def work(hand: Hand) -> None:
        for _ in range(60):
            for claim in await world.claim(3, by=hand):
                running.add(claim.task_id)
                assert len(running) <= 5
                await asyncio.sleep(0)
                # Counted down before the store hears of it: another may take its place at once.
                running.discard(claim.task_id)
                await settle(world, claim)
                done.append(claim.task_id)

    async with asyncio.timeout(PATIENCE):
        while len(done) < 120:
            await asyncio.gather(*map(work, hands))
    assert len(set(done)) == 120


async def test_shares_are_fair_under_limits(world: World) -> None:
    await limit(world, LANE, "interactive", 100)
    for tenant in ("one", "other"):
        await fill(world, 60, tenant=tenant)
    taken = Counter(claim.tenant for claim in [*await world.claim(7), *await world.claim(33)])
    assert taken == {"one": 20, "other": 20}
