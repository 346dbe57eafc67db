"""Quotas and schedules from before batches needed room, and quotas that many processes keep."""

import asyncio
from pathlib import Path

from stagepost.clock import SystemClock
from stagepost.errors import TenantFull
from stagepost.quota import Quota
from stagepost.records import Scope, Submitted
from stagepost.store import Store
from stagepost.stores.postgres import PostgresStore
from stagepost.stores.postgres.schema.room import ROOM as POSTGRES_ROOM
from stagepost.stores.schedule_rows import plan_text
from stagepost.stores.sqlite import SqliteStore
from stagepost.stores.sqlite.schema.room import ROOM as SQLITE_ROOM
from support.families import new_batch, page
from support.older import deaf, make_older_folder, make_older_schema
from support.postgres import Server
from support.postgres_worlds import PostgresWorlds
from support.schedules import plan
from support.world import a_world, new_id, new_task, refused

SCHEDULE = new_id()


def script(seen: str) -> str:
    """A quota of which all is taken, by tasks that are gone; and a schedule."""
    rows = "".join(f"INSERT INTO backlog VALUES ('acme', '{new_id()}');" for _ in range(2))
    return f"""
        INSERT INTO tenant_quotas VALUES ('acme', 2);
        INSERT INTO backlogs VALUES ('acme', 2, '{seen}');
        {rows}
        INSERT INTO schedules (id, tenant, "user", plan, created_at, anchor, version, waiting)
        VALUES ('{SCHEDULE}', 'acme', 'ada', '{plan_text(plan())}', 1, 1, 1, 0);"""


async def check(store: Store) -> None:
    await store.submit(new_task(brings=2))
    await refused(store.submit(new_task()), TenantFull)
    schedule = await store.schedules.get(SCHEDULE, Scope("acme"))
    assert (schedule.plan, schedule.held_at, schedule.held_why) == (plan(), None, None)


async def test_an_older_folder_is_brought_up(tmp_path: Path) -> None:
    make_older_folder(tmp_path, SQLITE_ROOM, script(""))
    store = SqliteStore(tmp_path, SystemClock(), deaf)
    await check(store)
    await store.close()


async def test_an_older_schema_is_brought_up(postgres_server: Server, schema: str) -> None:
    old = script("00000000-0000-0000-0000-000000000000")
    url = await make_older_schema(postgres_server.url, schema, POSTGRES_ROOM, old)
    store = await PostgresStore.open(url, SystemClock(), deaf)
    await check(store)
    await store.close()


async def test_processes_keep_one_quota_of_batches_children_and_tasks(
    postgres_worlds: PostgresWorlds, tmp_path: Path
) -> None:
    async with a_world(postgres_worlds.open, tmp_path / "data") as world:
        parents = [await world.running() for _ in range(4)]
        await world.store.quotas.set(Quota("acme", 60))
        async with postgres_worlds.others(world, 2) as others:
            stores = [world.store, *others]
            news = [new_task(brings=n % 3) for n in range(90)]
            submits = [stores[n % 3].submit(new) for n, new in enumerate(news)]
            spawns = [
                stores[n % 3].children.spawn(parent.lease, page(new_batch(), 5))
                for n, parent in enumerate(parents)
            ]
            answers = await asyncio.gather(*submits, *spawns, return_exceptions=True)
        assert not any(isinstance(answer, BaseException) for answer in answers[90:])
        assert all(isinstance(answer, Submitted | TenantFull) for answer in answers[:90])
        taken = sum(
            new.size
            for new, answer in zip(news, answers, strict=False)
            if isinstance(answer, Submitted)
        )
        assert 60 - 20 - 1 <= taken <= 60
        assert (await world.store.quotas.get("acme")).waiting == taken + 20
        await refused(world.submit(), TenantFull)
