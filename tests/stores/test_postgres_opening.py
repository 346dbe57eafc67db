"""Opening: what is refused, with one sentence that has the remedy and never the password."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest
from asyncpg.types import ServerVersion

from stagepost.bus import Committed
from stagepost.clock import SystemClock
from stagepost.errors import StoreRefused
from stagepost.records import Scope
from stagepost.stores.postgres import PostgresStore, schema
from stagepost.stores.postgres.address import address_of
from stagepost.stores.postgres.connections import Backend
from stagepost.task import Status
from support.postgres import Server, server
from support.world import new_id, new_task, refused

SECRET = "hunter2"


def _deaf(_: Committed) -> None:
    pass


async def opened(url: str) -> PostgresStore:
    return await PostgresStore.open(url, SystemClock(), _deaf)


async def run(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url)
    for statement in statements:
        await connection.execute(statement)
    await connection.close()


@pytest.fixture
async def url(postgres_server: Server) -> AsyncIterator[str]:
    """The address of an empty schema."""
    name = f"open_{new_id().replace('-', '')}"
    yield f"{postgres_server.url}?schema={name}"
    await run(postgres_server.url, f"DROP SCHEMA IF EXISTS {name} CASCADE")


def bare(url: str) -> str:
    return url.partition("?")[0]


async def sentence(url: str) -> str:
    text = str(await refused(opened(url), StoreRefused))
    assert SECRET not in text
    assert "\n" not in text
    return text


async def test_an_empty_database_is_made_ready(url: str) -> None:
    store = await opened(url)
    submitted = await store.submit(new_task())
    await store.close()
    store = await opened(url)
    assert (await store.get(submitted.task_id, Scope(None))).task.status is Status.QUEUED
    await store.close()


async def test_no_server() -> None:
    text = await sentence(f"postgresql://me:{SECRET}@127.0.0.1:1/stagepost")
    assert "No PostgreSQL server answers at postgresql://127.0.0.1:1/stagepost" in text


async def test_a_wrong_password(url: str) -> None:
    place = bare(url).rpartition("@")[2]
    text = await sentence(f"postgresql://stagepost:{SECRET}@{place}")
    assert "refuses this user and password" in text


async def test_no_database(url: str) -> None:
    text = await sentence(bare(url).rpartition("/")[0] + "/nowhere")
    assert "does not exist; create it with createdb" in text


async def test_no_rights(url: str) -> None:
    await run(
        bare(url), "DROP ROLE IF EXISTS guest", f"CREATE ROLE guest LOGIN PASSWORD '{SECRET}'"
    )
    place = url.rpartition("@")[2]
    assert "GRANT CREATE ON DATABASE" in await sentence(f"postgresql://guest:{SECRET}@{place}")
    await run(bare(url), "DROP ROLE guest")


@pytest.mark.parametrize("address", ["postgresql://h:port/db", "postgresql://h/db?schema=A;B"])
async def test_an_address_that_is_none(address: str) -> None:
    await sentence(address)


async def test_a_server_that_is_too_old(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    old = ServerVersion(12, 9, 0, "final", 0)
    monkeypatch.setattr(Backend, "get_server_version", lambda _: old)
    assert "PostgreSQL 12; Stagepost needs 13" in await sentence(url)


async def test_a_standby() -> None:
    with server() as standby:
        await asyncio.to_thread(standby.make_standby)
        assert "read-only" in await sentence(standby.url)


# Versions


async def versions(url: str, version: int, oldest: int) -> None:
    name = address_of(url).schema
    await run(bare(url), f"UPDATE {name}.schema_version SET version={version}, oldest={oldest}")


async def test_a_schema_that_lets_this_version_work_is_left_as_it_is(url: str) -> None:
    await (await opened(url)).close()
    await versions(url, schema.VERSION + 1, schema.VERSION)
    store = await opened(url)
    await store.submit(new_task())
    await store.close()


async def test_a_schema_that_is_too_new_is_refused(url: str) -> None:
    await (await opened(url)).close()
    await versions(url, schema.VERSION + 2, schema.VERSION + 1)
    assert "install a newer one" in await sentence(url)


async def test_an_older_schema_is_brought_up(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await (await opened(url)).close()
    more = schema.Migration("ALTER TABLE meta ADD COLUMN more integer", schema.VERSION)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, more))
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    store = await opened(url)
    await store.submit(new_task())
    await store.close()


async def test_a_migration_that_fails_leaves_nothing_behind(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await (await opened(url)).close()
    bad = schema.Migration("CREATE TABLE half (n integer); SELECT 1 / 0", schema.VERSION)
    with monkeypatch.context() as patched:
        patched.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, bad))
        patched.setattr(schema, "VERSION", schema.VERSION + 1)
        await sentence(url)
    await (await opened(url)).close()


async def test_of_many_that_start_at_once_one_makes_the_tables(url: str) -> None:
    stores = await asyncio.gather(*(opened(url) for _ in range(6)))
    for store in stores:
        await store.submit(new_task())
        await store.close()


def test_a_password_is_in_no_representation() -> None:
    address = address_of(f"postgresql://me:{SECRET}@h/db")
    assert SECRET not in repr(address)
    assert SECRET not in address.shown


async def test_a_password_is_in_no_log(url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    place = bare(url).rpartition("@")[2]
    await sentence(f"postgresql://stagepost:{SECRET}@{place}")
    assert SECRET not in caplog.text
