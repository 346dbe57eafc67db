"""The fence switched off: what the conformance suite says of it must be red."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

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

LEASES = (
    " AND t.fence = j.value->>1 AND t.lease_id = j.value->>2",
    " AND tasks.fence = j.value->>1 AND tasks.lease_id = j.value->>2",
)
RUNS = ("AND t.status = 'RUNNING'", "AND tasks.status = 'RUNNING'")

Scenario = Callable[[World, Write], Awaitable[None]]


def fenced(condition: Sequence[str]) -> set[str]:
    statements = {name: value for name, value in vars(bulk).items() if isinstance(value, str)}
    return {name for name, text in statements.items() if any(part in text for part in condition)}


def test_the_statements_under_a_fence_are_known() -> None:
    assert fenced(LEASES) == {
        *("_OWNED", "_CHANGED", "_OWNERS"),
        *("_UNSAVED", "_STEP_EVENTS", "_INSERT_STEPS", "_SAVE_STEP"),
        *("_NOTE_EVENTS", "_NOTE", "_COMPLETED_EVENTS", "_SUCCEED"),
    }
    assert fenced(RUNS) == fenced(LEASES)


def without(monkeypatch: pytest.MonkeyPatch, *conditions: str) -> None:
    """Take conditions out of every statement, just before it is run."""

    def wrapped(method: Callable[..., Any]) -> Callable[..., Any]:
        def run(tx: Transaction, statement: str, bindings: Sequence[Any] = ()) -> Any:
            for condition in conditions:
                statement = statement.replace(condition, "")
            return method(tx, statement, bindings)

        return run

    for name in ("execute", "value"):
        monkeypatch.setattr(Transaction, name, wrapped(getattr(Transaction, name)))


def unfenced(tx: Transaction, lease: Lease) -> Task | None:
    task = changes.find(tx, lease.task_id)
    return task if task is not None and task.status is Status.RUNNING else None


@pytest.fixture
async def no_lease(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[World]:
    without(monkeypatch, *LEASES)
    monkeypatch.setattr(changes, "owned", unfenced)
    async with a_world(open_sqlite, tmp_path / "data") as world:
        yield world


@pytest.fixture
async def no_status(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[World]:
    # An end clears the lease, so that this alone is caught only where both conditions are gone.
    without(monkeypatch, *LEASES, *RUNS)
    monkeypatch.setattr(changes, "owned", lambda tx, lease: changes.find(tx, lease.task_id))
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
