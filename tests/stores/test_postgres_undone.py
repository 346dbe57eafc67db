"""What another transaction undoes is done again: real deadlocks and serialisation failures.

Each is provoked on the server: another connection holds what a verb needs second, and asks for what
the verb has taken first; or it changes a row that a verb of a stricter isolation waits for.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from stagepost.clock import Clock
from stagepost.errors import StoreUnavailable
from stagepost.records import Filter, Idempotency
from stagepost.stores.postgres import PostgresStore
from stagepost.stores.postgres.address import address_of
from stagepost.stores.postgres.connections import Backend, Connections
from support.postgres import Server
from support.tasks import failed, succeeded
from support.waiting import PATIENCE
from support.world import EVERYBODY, World, a_world, checkpoint, new_id, new_task, refused

DEADLOCK, SERIALIZATION = "40P01", "40001"

# One statement: what comes then is asked for long before the server looks for a deadlock.
_ONCE_IT_WAITS = """DO $do$ BEGIN
    FOR n IN 1..2000 LOOP
        IF EXISTS (SELECT FROM pg_locks
            WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid)))
        THEN {then}; RETURN; END IF;
        PERFORM pg_sleep(0.005);
    END LOOP;
    RAISE 'nobody waits';
END $do$"""

_TASK = "FROM tasks WHERE id = '{}' FOR UPDATE"
_IN_POOL = "FROM pool WHERE task_id = '{}' FOR UPDATE"

_CHANGED = "UPDATE tasks SET trace_id = 'changed' WHERE id = '{}'"

# A sequence is not undone with its transaction.
_UNDOING = """
CREATE SEQUENCE tries;
CREATE FUNCTION undo() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF nextval('tries') <= {times} THEN RAISE 'undone' USING ERRCODE = '{sqlstate}'; END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER undo BEFORE INSERT ON tasks FOR EACH STATEMENT EXECUTE FUNCTION undo()"""


@pytest.fixture
def undone(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The SQLSTATE of every error that ended a transaction of the stores."""
    found: list[str] = []
    one = Connections.one

    @asynccontextmanager
    async def watched(connections: Connections, purpose: str = "") -> AsyncIterator[Backend]:
        async with one(connections, purpose) as backend:
            try:
                yield backend
            except asyncpg.PostgresError as error:
                found.append(str(error.sqlstate))
                raise

    monkeypatch.setattr(Connections, "one", watched)
    return found


class Scene:
    """A world on tables of its own, and a connection that is none of its store's."""

    def __init__(self, world: World, other: asyncpg.Connection) -> None:
        self.world = world
        self.other = other

    async def holding(self, statement: str) -> None:
        """Begin the other's transaction."""
        await self.other.execute(f"BEGIN; {statement}")

    async def once_it_waits(
        self, call: Awaitable[Any], then: str = "NULL"
    ) -> "asyncio.Future[Any]":
        """Begin a verb; when it waits for the other's transaction, that does something more."""
        verb = asyncio.ensure_future(call)
        await self.other.execute(_ONCE_IT_WAITS.format(then=then))
        return verb

    async def let_go(self, verb: "asyncio.Future[Any]") -> Any:
        """End the other's transaction; answers the verb's result."""
        await self.other.execute("COMMIT")
        async with asyncio.timeout(PATIENCE):
            return await verb

    async def undoing(self, sqlstate: str, times: int) -> None:
        """From now on the first inserts of tasks are undone with this error."""
        await self.other.execute(_UNDOING.format(sqlstate=sqlstate, times=times))


@asynccontextmanager
async def a_scene(server: Server, folder: Path, options: str = "") -> AsyncIterator[Scene]:
    url = server.url_of(f"undone_{new_id()[-12:]}") + options
    schema = address_of(url).schema

    async def opened(_: Path, clock: Clock, committed: Callable[..., None]) -> PostgresStore:
        return await PostgresStore.open(url, clock, committed)

    other = await asyncpg.connect(
        server.url,
        # The verb's own look for a deadlock comes first: it is the one that is undone.
        server_settings={"search_path": schema, "deadlock_timeout": "60s"},
    )
    try:
        async with a_world(opened, folder) as world:
            yield Scene(world, other)
    finally:
        await other.execute(f"ROLLBACK; DROP SCHEMA IF EXISTS {schema} CASCADE")
        other.terminate()


@pytest.fixture
async def scene(postgres_server: Server, tmp_path: Path) -> AsyncIterator[Scene]:
    async with a_scene(postgres_server, tmp_path) as scene:
        yield scene


@pytest.fixture
async def strict(postgres_server: Server, tmp_path: Path) -> AsyncIterator[Scene]:
    """The store's transactions see one snapshot each, as an operator may have set it."""
    stricter = "&default_transaction_isolation=repeatable%20read"
    async with a_scene(postgres_server, tmp_path, stricter) as scene:
        yield scene


# Deadlocks


async def test_a_claim_is_done_again_after_a_deadlock(scene: Scene, undone: list[str]) -> None:
    task_id = await scene.world.submit()
    await scene.holding(f"SELECT {_TASK.format(task_id)}")
    verb = await scene.once_it_waits(scene.world.claim(), f"PERFORM {_IN_POOL.format(task_id)}")
    (claimed,) = await scene.let_go(verb)
    assert undone == [DEADLOCK]
    assert claimed.attempt == 1
    await scene.world.store.settle(claimed.lease, succeeded())
    assert await scene.world.kinds(task_id) == ["queued", "started", "completed"]


async def test_a_settle_is_done_again_after_a_deadlock(scene: Scene, undone: list[str]) -> None:
    claimed = await scene.world.running()
    await scene.holding("SELECT FROM claims FOR UPDATE")
    settle = scene.world.store.settle(claimed.lease, succeeded())
    verb = await scene.once_it_waits(settle, f"PERFORM {_TASK.format(claimed.task_id)}")
    await scene.let_go(verb)
    assert undone == [DEADLOCK]
    assert await scene.world.kinds(claimed.task_id) == ["queued", "started", "completed"]


# Serialisation failures


async def test_a_cancel_is_done_again_on_what_another_has_changed(
    strict: Scene, undone: list[str]
) -> None:
    task_id = await strict.world.submit()
    await strict.holding(_CHANGED.format(task_id))
    verb = await strict.once_it_waits(strict.world.cancel(task_id))
    await strict.let_go(verb)
    assert undone == [SERIALIZATION]
    assert await strict.world.kinds(task_id) == ["queued", "cancelled"]


async def test_a_claim_is_done_again_on_what_another_has_changed(
    strict: Scene, undone: list[str]
) -> None:
    task_id = await strict.world.submit()
    await strict.holding(_CHANGED.format(task_id))
    verb = await strict.once_it_waits(strict.world.claim())
    (claimed,) = await strict.let_go(verb)
    assert undone == [SERIALIZATION]
    assert (claimed.task_id, claimed.attempt) == (task_id, 1)


async def test_a_batch_of_writes_is_done_again_on_what_another_has_changed(
    strict: Scene, undone: list[str]
) -> None:
    world = strict.world
    await asyncio.gather(*(world.submit() for _ in range(3)))
    first, second, third = await world.claim(3)
    await strict.holding(_CHANGED.format(second.task_id))
    verbs = asyncio.gather(
        world.store.settle(first.lease, succeeded()),
        world.store.checkpoint(second.lease, checkpoint(), None),
        world.store.settle(third.lease, failed(None)),
    )
    await strict.let_go(await strict.once_it_waits(verbs))
    assert undone == [SERIALIZATION]
    assert await world.kinds(first.task_id) == ["queued", "started", "completed"]
    assert await world.kinds(second.task_id) == ["queued", "started", "step"]
    assert await world.kinds(third.task_id) == ["queued", "started", "failed"]


async def test_a_submit_finds_the_key_that_another_has_just_taken(
    strict: Scene, undone: list[str]
) -> None:
    key = Idempotency("submit", "key", "content")
    taken = new_id()
    await strict.holding(
        f"""INSERT INTO idempotency VALUES
            ('acme', 'ada', 'submit', 'key', 'content', '{taken}', now_ms())"""
    )
    verb = await strict.once_it_waits(strict.world.store.submit(new_task(idempotency=key)))
    submitted = await strict.let_go(verb)
    assert undone == [SERIALIZATION]
    assert (submitted.task_id, submitted.replayed) == (taken, True)


# The bound


@pytest.mark.parametrize("sqlstate", [SERIALIZATION, DEADLOCK])
async def test_a_submit_that_is_undone_four_times_is_done_once(
    scene: Scene, undone: list[str], sqlstate: str
) -> None:
    await scene.undoing(sqlstate, times=4)
    task_id = await scene.world.submit()
    assert undone == [sqlstate] * 4
    assert await scene.world.kinds(task_id) == ["queued"]
    assert len(await scene.world.store.find(EVERYBODY, Filter())) == 1


async def test_what_is_undone_each_time_is_refused_after_five_tries(
    scene: Scene, undone: list[str]
) -> None:
    await scene.undoing(SERIALIZATION, times=1_000)
    refusal = await refused(scene.world.submit(), StoreUnavailable)
    assert str(refusal) == "The database is busy with the same rows; try again in a moment."
    assert undone == [SERIALIZATION] * 5
    assert list(await scene.world.store.find(EVERYBODY, Filter())) == []
    await scene.other.execute("DROP TRIGGER undo ON tasks")
    await scene.world.submit()


async def test_other_errors_are_not_tried_again(scene: Scene, undone: list[str]) -> None:
    await scene.undoing("XX000", times=1_000)
    await refused(scene.world.submit(), StoreUnavailable)
    assert undone == ["XX000"]
