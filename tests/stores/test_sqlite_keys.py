"""Keys in the embedded store: what becomes of them with their tasks, and in older folders."""

from pathlib import Path

import apsw
import pytest

from stagepost.records import Idempotency
from stagepost.stores.sqlite import schema
from stagepost.stores.sqlite.folder import DATABASE
from stagepost.stores.sqlite.schema.accepting import ACCEPTING
from stagepost.task import Status
from support.world import DAY, World, a_world, new_task, open_sqlite

KEY = Idempotency("submit", "key", "content")


def pruned(folder: Path, task_id: str) -> int:
    """Take a task away; answers how many unique keys are left."""
    connection = apsw.Connection(str(folder / DATABASE))
    try:
        connection.execute("DELETE FROM tasks WHERE id = ?", (task_id,))
        return int(connection.execute("SELECT count(*) FROM unique_keys").get)
    finally:
        connection.close()


async def test_an_idempotency_key_outlives_its_task_and_a_unique_key_goes_with_it(
    tmp_path: Path,
) -> None:
    async with a_world(open_sqlite, tmp_path / "data") as world:
        first = await world.store.submit(new_task(idempotency=KEY, unique_key="a"))
        await world.store.close()
        assert pruned(world.folder, first.task_id) == 0
        await world.open()
        again = await world.store.submit(new_task(idempotency=KEY, unique_key="a"))
        assert again == first._replace(status=Status.COMPLETED, replayed=True)
        assert not (await world.store.submit(new_task(unique_key="a"))).replayed
        world.clock.advance(DAY + 1)
        assert not (await world.store.submit(new_task(idempotency=KEY))).replayed


async def test_a_folder_from_before_is_brought_up_with_its_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data"
    with monkeypatch.context() as before:
        earlier = schema.MIGRATIONS[: schema.MIGRATIONS.index(ACCEPTING)]
        before.setattr(schema, "MIGRATIONS", earlier)
        before.setattr(schema, "VERSION", len(earlier))
        before.setattr("stagepost.stores.sqlite.submitting.rooms_for", lambda *_: None)
        async with a_world(open_sqlite, folder) as old:
            task_id = await old.submit()
    async with a_world(open_sqlite, folder) as world:
        assert await world.status(task_id) is Status.QUEUED
        await in_place(world)


async def in_place(world: World) -> None:
    first = await world.store.submit(new_task(unique_key="a"))
    assert (await world.store.submit(new_task(unique_key="a"))).task_id == first.task_id
