"""What proves the stores is worth something: each invariant that is broken on purpose is found."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from stagepost.bus import Committed
from stagepost.clock import Clock
from stagepost.records import Scope, TaskView
from stagepost.stores.sqlite import SqliteStore
from stagepost.stores.sqlite.folder import DATABASE
from support.borders import borders_hold
from support.crashes import Crash, crash_sqlite
from support.faults import Fault, When
from support.healing import broken, heal
from support.leftovers import none_left
from support.tasks import succeeded
from support.twins import Cause, Twins, step
from support.world import EVERYBODY, World, a_world, open_sqlite

HISTORY = [
    Cause("submit", (2, {"tenant": "bolt"})),
    Cause("claim", (0, 1)),
    Cause("save", (1, [(step(1, "1"), None)])),
    Cause("settle", (1, [succeeded()], None)),
]
"""Two tasks are accepted, and one of them saves a step and is completed."""


async def lived(world: World, when: When | None = None, crash: Crash = crash_sqlite) -> Twins:
    """A store and its model at the end of the history, or of one with a crash in the end."""
    twins = Twins(world, crash, looks_commit=False)
    await twins.run(HISTORY)
    if when is not None:
        await twins.run([Cause("submit", (1, {}))], [Fault("submit", when, 0.05)])
    return twins


def spoil(world: World, statement: str) -> None:
    """Change what a store holds behind its back."""
    database = apsw.Connection(str(world.folder / DATABASE))
    database.execute(statement)
    database.close()


DONE = "(SELECT id FROM tasks WHERE fence = 1 AND saved_steps = 1)"
"""The task that has saved a step."""


def told_again(kind: str) -> str:
    """An event comes once more, behind the end."""
    return f"""INSERT INTO events SELECT task_id, 9, kind, data, at FROM events
        WHERE task_id = {DONE} AND kind = '{kind}'"""


BREAKS = {
    "I1 an accepted task is gone": ("I1", "DELETE FROM tasks WHERE saved_steps = 0"),
    "I1 a task never ends": ("I1", f"UPDATE tasks SET status = 'WAITING' WHERE id = {DONE}"),
    "I2 a task is completed twice": (
        "I2",
        told_again("completed"),
    ),
    "I2 a later result has won": ("I2", f"UPDATE tasks SET result = '0' WHERE id = {DONE}"),
    "I3 a task starts before it is queued": (
        "I3",
        f"UPDATE events SET kind = 'started' WHERE task_id = {DONE} AND kind = 'queued'",
    ),
    "I4 a step is saved again": (
        "I4",
        told_again("step"),
    ),
    "I4 a saved step has changed": ("I4", f"UPDATE steps SET value = '2' WHERE task_id = {DONE}"),
    "I5 an event is lost": (
        "I5",
        f"DELETE FROM events WHERE task_id = {DONE} AND kind = 'started'",
    ),
    "I6 something follows the end": (
        "I6",
        told_again("step"),
    ),
    "I7 a task is another tenant's": ("I7", f"UPDATE tasks SET tenant = 'crane' WHERE id = {DONE}"),
    "I8 a lease stays": ("I8", f"UPDATE tasks SET lease_id = 'old' WHERE id = {DONE}"),
    "I8 a place in the pool stays": (
        "I8",
        f"INSERT INTO pool SELECT lane, tenant, type, 1, id, 0, 0 FROM tasks WHERE id = {DONE}",
    ),
    "I8 a worker stays": (
        "I8",
        "INSERT INTO workers SELECT 'w', 'w', '[]', '[]', 1, '1', 'running', 0, 0, '{}'",
    ),
}


@pytest.mark.parametrize(("number", "statement"), BREAKS.values(), ids=BREAKS)
async def test_what_is_broken_is_found(tmp_path: Path, number: str, statement: str) -> None:
    async with a_world(open_sqlite, tmp_path / "data") as world:
        twins = await lived(world)
        await heal(twins)
        assert await broken(twins) == []
        spoil(world, statement)
        wrong = await broken(twins)
        assert any(line.startswith(number) for line in wrong), wrong


class Nosy(SqliteStore):
    """A store that shows anybody any task."""

    async def get(self, task_id: str, scope: Scope) -> TaskView:
        """A task, whosever it is."""
        del scope
        return await super().get(task_id, EVERYBODY)


async def test_a_store_that_shows_others_tasks_is_found(tmp_path: Path) -> None:
    async def open_nosy(folder: Path, clock: Clock, committed: Callable[[Committed], None]) -> Any:
        return Nosy(folder, clock, committed)

    async with a_world(open_nosy, tmp_path / "data") as world:
        twins = await lived(world)
        with pytest.raises(AssertionError, match="was not refused"):
            await borders_hold(world.store, twins.model.tasks.values(), twins.model.gone)


class Leaky(SqliteStore):
    """A store that forgets to close a file."""

    async def close(self) -> None:
        """Close, but for one file."""
        self.left = (Path(__file__)).open()  # noqa: ASYNC230, SIM115
        await super().close()


async def test_a_descriptor_that_is_left_is_found(tmp_path: Path) -> None:
    opened: list[Leaky] = []

    async def open_leaky(folder: Path, clock: Clock, committed: Callable[[Committed], None]) -> Any:
        opened.append(Leaky(folder, clock, committed))
        return opened[0]

    with pytest.raises(AssertionError, match="left"), none_left():
        async with a_world(open_leaky, tmp_path / "data") as world:
            await lived(world)
    opened[0].left.close()


def forgetful(statement: str) -> Crash:
    """A crash after which what a statement takes away was not kept."""

    async def crash(world: World) -> None:
        spoil(world, statement)
        await crash_sqlite(world)

    return crash


FORGOTTEN = {
    "nothing is kept": "DELETE FROM tasks; DELETE FROM events; DELETE FROM pool",
    "a half is kept": "DELETE FROM events",
}


@pytest.mark.parametrize("when", [When.AFTER, When.AMID])
@pytest.mark.parametrize("statement", FORGOTTEN.values(), ids=FORGOTTEN)
async def test_a_crash_that_forgets_is_found(
    tmp_path: Path, statement: str, when: When, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("support.alike.PATIENCE", 0.2)
    async with a_world(open_sqlite, tmp_path / "data") as world:
        with pytest.raises(AssertionError):
            await lived(world, when, forgetful(statement))


async def test_without_it_the_same_history_goes_well(tmp_path: Path) -> None:
    for when in When:
        async with a_world(open_sqlite, tmp_path / when) as world:
            twins = await lived(world, when)
            await heal(twins)
