"""Versions of a type's code: who takes which task."""

import pytest

from stagepost.outcome import Drained, Succeeded
from stagepost.rules import Rule, RuleKind
from stagepost.task import Payload
from stagepost.versions import Stamped, takes
from support.tasks import failed, waiting
from support.world import Hand, World, checkpoint

LANE = {"interactive": 1}


async def of_versions(world: World, *versions: int) -> Hand:
    return await world.worker(LANE, versions={"review": versions})


async def claimed_by(world: World, hand: Hand) -> list[str]:
    return [claim.task_id for claim in await world.claim(9, by=hand)]


async def test_a_worker_tells_its_versions(world: World) -> None:
    await world.worker(LANE, types=["review", "scan"], versions={"review": (3, 1, 2)})
    (worker,) = await world.store.workers()
    assert worker.versions == {"review": (3, 1, 2)}
    assert takes(worker, "interactive", "review", 2)
    assert takes(worker, "interactive", "review")
    assert takes(worker, "interactive", "scan", 1)
    assert not takes(worker, "interactive", "scan", 2)
    assert not takes(worker, "interactive", "review", 4)
    assert not takes(worker, "batch", "review", 1)
    assert not takes(worker, "interactive", "translate", 1)


async def test_the_first_claim_stamps_a_task(world: World) -> None:
    task_id = await world.submit()
    assert (await world.task(task_id)).code_version == 0
    (claim,) = await world.claim(by=await of_versions(world, 7, 1))
    assert (claim.code_version, (await world.task(task_id)).code_version) == (7, 7)


@pytest.mark.parametrize("outcome", [Drained(), waiting(1.0), failed(1.0)])
async def test_a_task_goes_on_only_with_its_version(
    world: World, outcome: "Drained | object"
) -> None:
    old, new = await of_versions(world, 1), await of_versions(world, 2)
    both = await of_versions(world, 2, 1)
    claim = await world.running(by=old)
    await world.store.settle(claim.lease, outcome)  # type: ignore[arg-type]
    world.clock.advance(1)
    await world.store.release_due(10)
    assert await claimed_by(world, new) == []
    (again,) = await world.claim(by=both)
    assert (again.task_id, again.code_version, again.fence) == (claim.task_id, 1, 2)


async def test_a_claim_looks_behind_what_is_not_for_it(world: World) -> None:
    old, new = await of_versions(world, 1), await of_versions(world, 2)
    first = [await world.running(by=old) for _ in range(5)]
    for claim in first:
        await world.store.settle(claim.lease, Drained())
    world.clock.advance(1)
    fresh = await world.submit()
    assert await claimed_by(world, new) == [fresh]
    assert sorted(await claimed_by(world, old)) == sorted(claim.task_id for claim in first)


async def test_a_rescued_task_keeps_its_version(world: World) -> None:
    claim = await world.running(by=await of_versions(world, 1))
    await world.store.checkpoint(claim.lease, checkpoint())
    await world.store.rescue(older_than=0)
    assert await claimed_by(world, await of_versions(world, 2)) == []
    assert await claimed_by(world, await of_versions(world, 1)) == [claim.task_id]


async def test_a_redrive_keeps_the_version_unless_it_is_fresh(world: World) -> None:
    claim = await world.running(by=await of_versions(world, 1))
    await world.store.settle(claim.lease, failed(None))
    await world.redrive(claim.task_id)
    new = await of_versions(world, 2)
    assert await claimed_by(world, new) == []
    (again,) = await world.claim(by=await of_versions(world, 1))
    await world.store.settle(again.lease, failed(None))
    await world.redrive(claim.task_id, fresh=True)
    assert (await world.task(claim.task_id)).code_version == 0
    (anew,) = await world.claim(by=new)
    assert anew.code_version == 2
    await world.store.settle(anew.lease, failed(None))
    await world.redrive(claim.task_id, input='{"page":2}')
    assert (await world.task(claim.task_id)).code_version == 0


async def test_what_waits_for_a_version_is_counted(world: World) -> None:
    old = await of_versions(world, 1)
    await world.submit()
    for lane in ("interactive", "interactive", "batch"):
        await world.submit(lane=lane)
    hand = await world.worker(versions={"review": (1,)})
    assert list(await world.store.stamped()) == []
    claims = await world.claim(3, by=hand)
    (ended, *given_back) = claims
    await world.store.settle(ended.lease, Succeeded(Payload("1", 1)))
    for claim in given_back:
        await world.store.settle(claim.lease, Drained())
    found = await world.store.stamped()
    lanes = [claim.lane for claim in given_back]
    assert sorted((each.lane, each.count) for each in found) == sorted(
        (lane, lanes.count(lane)) for lane in set(lanes)
    )
    assert {(each.type, each.code_version) for each in found} == {("review", 1)}
    await world.claim(9, by=old)
    assert Stamped("interactive", "review", 1, 1) not in await world.store.stamped()


async def test_a_key_is_handed_to_a_task_as_its_version_has_it(world: World) -> None:
    first = await world.running(by=await of_versions(world, 1), concurrency_key="one")
    await world.store.settle(first.lease, failed(None))
    second = await world.running(by=await of_versions(world, 2), concurrency_key="one")
    await world.redrive(first.task_id)
    both = await of_versions(world, 2, 1)
    assert await claimed_by(world, both) == []
    await world.store.settle(second.lease, Succeeded(Payload("1", 1)))
    assert await claimed_by(world, await of_versions(world, 2)) == []
    assert await claimed_by(world, both) == [first.task_id]


async def test_rules_of_a_type_hold_for_all_its_versions(world: World) -> None:
    old, both = await of_versions(world, 1), await of_versions(world, 2, 1)
    for claim in [await world.running(by=old) for _ in range(3)]:
        await world.store.settle(claim.lease, Drained())
    await world.submit()
    rules = world.store.rules
    await rules.put(Rule(RuleKind.TYPE, "review", concurrency=2))
    assert len(await claimed_by(world, both)) == 2
    assert await claimed_by(world, both) == []
    await rules.put(Rule(RuleKind.TYPE, "review"))
    await rules.pause(RuleKind.TYPE, "review", paused=True)
    assert await claimed_by(world, both) == []
    await rules.pause(RuleKind.TYPE, "review", paused=False)
    assert len(await claimed_by(world, both)) == 2


async def test_begun_and_fresh_tasks_of_a_tenant_are_one_line(world: World) -> None:
    hand = await of_versions(world, 1)
    begun = await world.running(by=hand)
    first = await world.submit()
    world.clock.advance(1)
    await world.store.settle(begun.lease, Drained())
    world.clock.advance(1)
    last, other = await world.submit(), await world.submit(tenant="bolt")
    line = [first, begun.task_id, last]
    places = [(await world.view(task_id)).position for task_id in (*line, other)]
    assert places == [2, 3, 4, 2]
    assert {claim.task_id for claim in await world.claim(2, by=hand)} == {first, other}
    assert await claimed_by(world, hand) == [begun.task_id, last]


async def test_versions_survive_a_restart(world: World) -> None:
    claim = await world.running(by=await of_versions(world, 3))
    await world.store.settle(claim.lease, Drained())
    await world.reopen()
    assert (await world.task(claim.task_id)).code_version == 3
    assert await claimed_by(world, await of_versions(world, 2)) == []


async def test_a_claim_says_how_long_ago_the_first_was(world: World) -> None:
    first = await world.running()
    assert first.age == 0
    await world.store.settle(first.lease, Drained())
    world.clock.advance(3)
    again = await world.reclaim(first.task_id)
    assert again.age == 3_000
