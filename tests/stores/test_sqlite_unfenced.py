"""The fence switched off: what the conformance suite says of it must be red."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from stagepost.stores.sqlite import bulk, changes
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.task import Lease, Status, Task
from support.fences import (
    WRITES,
    Write,
    a_lease_of_one_whose_id_or_fence_is_wrong,
    stale_after_its_own_end,
    stale_after_reclaim,
    stale_after_rescue,
)
from support.world import World, a_world, open_sqlite

FENCED = [name for name, value in vars(bulk).items() if bulk._OWNED in str(value)]
LEASE = " AND fence = j.value->>1 AND lease_id = j.value->>2"
RUNS = "AND status = 'RUNNING'"

Scenario = Callable[[World, Write], Awaitable[None]]


def test_the_statements_under_a_fence_are_known() -> None:
    assert sorted(FENCED) == ["_NOTE", "_OWNED", "_SAVE_STEP", "_SUCCEED", "_UNSAVED"]
    assert LEASE in bulk._OWNED
    assert RUNS in bulk._OWNED


def without(monkeypatch: pytest.MonkeyPatch, *conditions: str) -> None:
    """Take conditions out of every fenced statement."""
    for name in FENCED:
        statement = getattr(bulk, name)
        for condition in conditions:
            statement = statement.replace(condition, "")
        monkeypatch.setattr(bulk, name, statement)


def unfenced(tx: Transaction, lease: Lease) -> Task | None:
    task = changes.find(tx, lease.task_id)
    return task if task is not None and task.status is Status.RUNNING else None


@pytest.fixture
async def no_lease(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[World]:
    without(monkeypatch, LEASE)
    monkeypatch.setattr(changes, "_owned", unfenced)
    async with a_world(open_sqlite, tmp_path / "data") as world:
        yield world


@pytest.fixture
async def no_status(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[World]:
    # An end clears the lease, so that this alone is caught only where both conditions are gone.
    without(monkeypatch, LEASE, RUNS)
    monkeypatch.setattr(changes, "_owned", lambda tx, lease: changes.find(tx, lease.task_id))
    async with a_world(open_sqlite, tmp_path / "data") as world:
        yield world


async def is_red(scenario: Scenario, world: World, write: Write) -> None:
    with pytest.raises(AssertionError, match="the call was not refused"):
        await scenario(world, write)


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize(
    "scenario", [stale_after_reclaim, a_lease_of_one_whose_id_or_fence_is_wrong]
)
async def test_without_the_lease_a_stale_writer_gets_through(
    no_lease: World, scenario: Scenario, write: Write
) -> None:
    await is_red(scenario, no_lease, write)


@pytest.mark.parametrize("name", ["checkpoint", "progress", "attach", "settle succeeded"])
@pytest.mark.parametrize("scenario", [stale_after_rescue, stale_after_its_own_end])
async def test_without_lease_and_status_even_an_ended_claim_writes(
    no_status: World, scenario: Scenario, name: str
) -> None:
    await is_red(scenario, no_status, WRITES[name])
