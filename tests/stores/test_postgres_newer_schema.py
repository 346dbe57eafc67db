"""Code of one version on a schema that the next one has already brought further."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import Phase, given, settings
from hypothesis import note as note_it

from stagepost.clock import SystemClock
from stagepost.errors import StoreRefused
from stagepost.records import Scope
from stagepost.stores.postgres import PostgresStore, schema
from stagepost.task import Status
from stores.test_store_model import histories
from support.crashes import crash_postgres
from support.newer_schema import CONTRACT, EXPAND_ALL, drop, everything, upgrade
from support.postgres import Server
from support.postgres_worlds import PostgresWorlds, folder_of_times
from support.quick import quick_folder
from support.twins import Cause, Twins
from support.world import a_world, new_id, new_task, refused

HISTORIES = settings.get_profile("stagepost").max_examples * 6 // 100


@pytest.mark.timeout(600 + 10 * HISTORIES)
def test_what_runs_goes_on_as_the_model_says_though_every_table_gets_wider(
    postgres_server: Server,
) -> None:
    """Also by the statements that it has prepared, and when it is opened anew after a crash."""

    async def live(history: list[Cause]) -> None:
        with quick_folder() as folder, folder_of_times() as times:
            # Of its own: what was made wider is for nobody else.
            worlds = PostgresWorlds(postgres_server, times)
            async with a_world(worlds.open, folder / "data") as world:
                url = worlds.url_of(world)
                twins = Twins(world, crash_postgres(worlds), looks_commit=True)
                middle = len(history) // 2
                await twins.run(history[:middle])
                await upgrade(url, EXPAND_ALL)
                await twins.run(history[middle:])
        await drop(url)

    # A shorter example is not looked for: each try takes a second, for all the tables.
    @settings(max_examples=HISTORIES, phases=(Phase.explicit, Phase.generate))
    @given(histories)
    def run(history: list[Cause]) -> None:
        note_it(repr(history))
        asyncio.run(live(history))

    run()


@pytest.fixture
async def url(postgres_server: Server) -> AsyncIterator[str]:
    """The address of a schema of this version with a task in it."""
    url = postgres_server.url_of(f"newer_{new_id()[-12:]}")
    store = await opened(url)
    await store.submit(new_task(tags=("first",)))
    await store.close()
    yield url
    await drop(url)


async def opened(url: str) -> PostgresStore:
    return await PostgresStore.open(url, SystemClock(), lambda _: None)


async def test_a_schema_that_takes_something_away_is_refused_and_left_as_it_is(url: str) -> None:
    await upgrade(url, CONTRACT)
    before = await everything(url)
    assert before["schema_version"][1:] == [f"({schema.VERSION + 1},{schema.VERSION + 1})"]
    for _ in range(2):
        refusal = await refused(opened(url), StoreRefused)
        assert str(refusal) == (
            f"The database has schema version {schema.VERSION + 1}, for which this Stagepost "
            f"(version {schema.VERSION}) is too old; install a newer one."
        )
    assert await everything(url) == before


async def test_the_oldest_version_that_may_work_is_kept_by_later_changes(url: str) -> None:
    """A change that only adds does not let in again whom one before it has shut out."""
    await upgrade(url, CONTRACT, EXPAND_ALL)
    before = await everything(url)
    assert "next" in before
    await refused(opened(url), StoreRefused)
    assert await everything(url) == before


async def test_what_only_adds_is_opened_and_not_brought_back(url: str) -> None:
    await upgrade(url, EXPAND_ALL)
    before = await everything(url)
    store = await opened(url)
    assert await everything(url) == before
    submitted = await store.submit(new_task(tags=("second",)))
    view = await store.get(submitted.task_id, Scope(None))
    assert (view.task.status, view.tags) == (Status.QUEUED, ("second",))
    await store.close()
    after = await everything(url)
    assert after["schema_version"] == before["schema_version"]
    assert len(after["tasks"]) == len(before["tasks"]) + 1
