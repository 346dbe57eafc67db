"""What has become of a call is sealed, and every change of it behind the ledger's back is found."""

import asyncio
from collections.abc import Sequence

import pytest

from stagepost.audit.entries import Fact
from stagepost.audit.faults import Kind
from stagepost.audit.seals import Seal, line_of
from stagepost.auditing import Report, verify
from stagepost.calls import CallState
from stagepost.outcome import Drained
from stagepost.records import Scope
from stagepost.retention import Erasure
from support.calls import answered, refused_call, rejected, result, sent
from support.tampering import Tamper
from support.tasks import failed, succeeded
from support.world import EVERYBODY, World


async def seal(world: World, limit: int = 1_000) -> int:
    """All that waits, in one seal for each tenant."""
    tenants = await world.store.seals.waiting_tenants("", 100)
    return await world.store.seals.seal(tenants, limit)


async def facts(world: World, tenant: str = "acme") -> list[tuple[str, Fact]]:
    found = []
    for each in await world.store.seals.chain(tenant, 0, 100):
        held = await world.store.seals.held(tenant, each.n)
        found += [(one.entry.call_id, one.entry.fact) for one in held]
    return found


async def sound(world: World, anchor: Sequence[str] | None = None) -> Report:
    report = await verify(world.store.seals, None, anchor)
    assert report.faults == []
    return report


async def kinds(world: World, anchor: Sequence[str] | None = None) -> set[Kind]:
    report = await verify(world.store.seals, None, anchor)
    return {fault.kind for fault in report.faults}


async def chain(world: World, tenant: str = "acme") -> Sequence[Seal]:
    return await world.store.seals.chain(tenant, 0, 100)


async def test_an_end_waits_for_its_seal_and_an_intent_for_none(world: World) -> None:
    claimed = await world.running()
    await sent(world, claimed)
    assert await world.store.seals.waiting() == {}
    await answered(world, claimed, end=result())
    await answered(world, claimed, end=rejected())
    await answered(world, claimed, end=refused_call())
    assert await world.store.seals.waiting() == {"acme": 3}
    assert await seal(world) == 3
    assert await world.store.seals.waiting() == {}
    report = await sound(world)
    assert (report.chains["acme"].seals, report.chains["acme"].entries) == (1, 3)


async def test_what_waits_is_sound_and_said(world: World) -> None:
    await answered(world, await world.running())
    report = await sound(world)
    assert (report.chains["acme"].seals, report.chains["acme"].waiting) == (0, 1)


async def test_each_tenant_has_a_chain_of_its_own(world: World) -> None:
    one, other = await world.running(tenant="acme"), await world.running(tenant="zeta")
    for _ in range(2):
        await answered(world, one)
        await answered(world, other)
        world.clock.advance(1)
        assert await seal(world) == 2
    for tenant in ("acme", "zeta"):
        first, second = await chain(world, tenant)
        assert (first.n, second.n, second.at - first.at) == (1, 2, 1_000)
    assert await world.store.seals.tenants("", 10) == ["acme", "zeta"]
    assert await world.store.seals.tenants("acme", 10) == ["zeta"]
    await sound(world)


async def test_a_seal_is_of_so_many_at_most(world: World) -> None:
    claimed = await world.running()
    for _ in range(5):
        await answered(world, claimed)
    assert [await seal(world, 2) for _ in range(4)] == [2, 2, 1, 0]
    assert [each.entries for each in await chain(world)] == [2, 2, 1]
    await sound(world)


async def test_a_result_that_is_rejected_is_sealed_once_more(world: World) -> None:
    claimed = await world.running()
    call = await answered(world, claimed)
    await seal(world)
    await world.store.calls.reject(claimed.task_id, call.id, "no JSON")
    await sound(world)
    await seal(world)
    both = [(call.id, Fact.RESULT), (call.id, Fact.REJECTED)]
    assert await facts(world) == both
    await sound(world)


async def test_a_call_that_is_unknown_is_sealed_and_its_late_end_too(world: World) -> None:
    claimed = await world.running()
    call = await sent(world, claimed)
    await world.store.settle(claimed.lease, Drained())
    await world.store.calls.note_unknown(10)
    await seal(world)
    await sound(world)
    await world.store.calls.end(claimed.task_id, call.id, result())
    await seal(world)
    assert await facts(world) == [(call.id, Fact.UNKNOWN), (call.id, Fact.RESULT)]
    await sound(world)


async def test_erasing_redriving_and_pruning_leave_the_seals_sound(world: World) -> None:
    erased, redriven, pruned = [await world.running() for _ in range(3)]
    for claimed in (erased, redriven, pruned):
        await answered(world, claimed, end=refused_call())
        await answered(world, claimed)
    await seal(world)
    await world.store.settle(redriven.lease, failed(None))
    await world.redrive(redriven.task_id)
    await world.store.settle(erased.lease, succeeded())
    seq = (await world.task(erased.task_id)).seq
    await world.store.retention.erase(erased.task_id, EVERYBODY, Erasure("ada", seq, "hash"))
    await sound(world)
    await world.store.settle(pruned.lease, succeeded())
    await world.store.retention.prune_tasks("", older_than=0.0, limit=10)
    await world.store.retention.prune_tombstones(older_than=0.0, limit=10)
    await sound(world)
    await seal(world)
    report = await sound(world)
    assert (report.chains["acme"].entries, report.chains["acme"].gone) == (8, 2)


async def test_two_that_seal_at_once_make_one_chain(world: World) -> None:
    claimed = await world.running()
    for _ in range(6):
        await answered(world, claimed)
    sealed = await asyncio.gather(*(world.store.seals.seal(["acme"], 2) for _ in range(4)))
    assert sum(sealed) == 6
    assert [each.n for each in await chain(world)] == [1, 2, 3]
    await sound(world)


async def test_what_an_anchor_has_is_not_sent_again(world: World) -> None:
    claimed = await world.running()
    for _ in range(3):
        await answered(world, claimed)
        await seal(world)
    unsent = await world.store.seals.unsent(2)
    assert [each.n for each in unsent] == [1, 2]
    await world.store.seals.sent(unsent)
    assert [each.n for each in await world.store.seals.unsent(10)] == [3]
    assert await world.store.seals.unsent_counts() == {"acme": 1}
    other = (await chain(world))[2]._replace(chained="another")
    await world.store.seals.sent([other])
    assert await world.store.seals.unsent_counts() == {"acme": 1}


@pytest.fixture
async def calls(world: World) -> list[str]:
    """Three seals: a result, a refusal and a result."""
    claimed = await world.running()
    found = []
    for end in (result(), refused_call(), result()):
        found.append((await answered(world, claimed, end=end)).id)
        await seal(world)
    return found


@pytest.fixture
async def anchor(world: World, calls: list[str]) -> list[str]:
    return [f"{line_of(each)}\n" for each in await chain(world)]


CHANGES = (
    "UPDATE calls SET cost = 1",
    "UPDATE calls SET answer_sha256 = 'other'",
    "UPDATE calls SET model = 'small'",
    "UPDATE calls SET state = 'INTENT'",
    "UPDATE calls SET ended_at = ended_at + 1",
    "UPDATE calls SET late = NOT late",
    "UPDATE calls SET tenant = 'zeta'",
)


@pytest.mark.parametrize("change", CHANGES)
async def test_a_changed_row_is_found(
    world: World, calls: list[str], tamper: Tamper, change: str
) -> None:
    await tamper(f"{change} WHERE id = '{calls[0]}'")
    report = await verify(world.store.seals)
    assert Kind.CHANGED_ROW in {fault.kind for fault in report.faults}
    assert all(calls[0] in fault.text for fault in report.faults)


async def test_a_missing_row_is_found(world: World, calls: list[str], tamper: Tamper) -> None:
    await tamper(f"DELETE FROM calls WHERE id = '{calls[1]}'")
    assert await kinds(world) == {Kind.MISSING_ROW}


async def test_a_row_that_vanished_before_it_was_sealed_is_found(
    world: World, tamper: Tamper
) -> None:
    call = await answered(world, await world.running())
    await tamper(f"DELETE FROM calls WHERE id = '{call.id}'")
    await seal(world)
    assert await kinds(world) == {Kind.MISSING_ROW}


async def test_an_end_that_nobody_told_the_ledger_is_found(
    world: World, calls: list[str], tamper: Tamper
) -> None:
    call = await answered(world, await world.running())
    await tamper(f"DELETE FROM unsealed WHERE call_id = '{call.id}'")
    report = await verify(world.store.seals)
    assert [(each.kind, each.call_id) for each in report.faults] == [(Kind.NEVER_SEALED, call.id)]
    assert (await verify(world.store.seals, "zeta")).sound


async def test_a_missing_seal_is_found(world: World, calls: list[str], tamper: Tamper) -> None:
    await tamper("DELETE FROM seals WHERE n = 2", "DELETE FROM seal_entries WHERE n = 2")
    assert await kinds(world) == {Kind.MISSING_SEAL, Kind.NEVER_SEALED}


async def test_a_changed_entry_is_found(world: World, calls: list[str], tamper: Tamper) -> None:
    await tamper(f"UPDATE seal_entries SET fact = 'GONE' WHERE call_id = '{calls[0]}'")
    assert Kind.CHANGED_SEAL in await kinds(world)


CUTS = (
    "DELETE FROM seals WHERE n = 3",
    "DELETE FROM seal_entries WHERE n = 3",
    "DELETE FROM calls WHERE id = '{last}'",
)


async def test_a_cut_tail_is_found_by_the_anchor_alone(
    world: World, calls: list[str], anchor: list[str], tamper: Tamper
) -> None:
    await sound(world, anchor)
    await tamper(*(cut.format(last=calls[2]) for cut in CUTS))
    await sound(world)
    assert await kinds(world, anchor) == {Kind.CUT_TAIL}


async def test_nothing_left_at_all_is_a_cut_tail(
    world: World, calls: list[str], anchor: list[str], tamper: Tamper
) -> None:
    await tamper("DELETE FROM seals", "DELETE FROM seal_entries", "DELETE FROM calls")
    assert await kinds(world, anchor) == {Kind.CUT_TAIL}


async def test_seals_that_were_made_anew_are_found_by_the_anchor(
    world: World, calls: list[str], anchor: list[str], tamper: Tamper
) -> None:
    await tamper(
        "DELETE FROM seals",
        "DELETE FROM seal_entries",
        "UPDATE calls SET cost = 1 WHERE cost = 450",
        "INSERT INTO unsealed SELECT tenant, id, state FROM calls",
    )
    await seal(world, 1)
    await seal(world, 1)
    await seal(world, 1)
    await sound(world)
    assert await kinds(world, anchor) == {Kind.FORGED_CHAIN}


async def test_an_anchor_with_a_line_that_a_crash_has_cut_is_sound(
    world: World, anchor: list[str]
) -> None:
    report = await sound(world, [anchor[0], f"{anchor[1][:40]}\n", *anchor[1:]])
    assert report.chains["acme"].anchored == 3
    await sound(world, [*anchor[:2], anchor[2][:40]])
    assert await kinds(world, [anchor[0], "garbled\n", *anchor[1:]]) == {Kind.BAD_ANCHOR}


async def test_the_facts_of_a_call_whose_task_is_gone_are_as_sound(world: World) -> None:
    claimed = await world.running()
    call = await sent(world, claimed)
    await world.store.settle(claimed.lease, succeeded())
    seq = (await world.task(claimed.task_id)).seq
    await world.store.retention.erase(claimed.task_id, EVERYBODY, Erasure("ada", seq, "hash"))
    await world.store.calls.end(claimed.task_id, call.id, refused_call(message="quoted"))
    await seal(world)
    (found,) = await world.store.calls.find(claimed.task_id, Scope("acme"), None, 10)
    assert (found.state, found.message, found.erased) == (CallState.REFUSED, "", True)
    await sound(world)
