"""However many calls the ledger has, no verb reads more than those that it is about."""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Final

import apsw
import pytest

from stagepost.calls import CallState
from stagepost.outcome import Drained
from stagepost.records import Scope
from stagepost.retention import Erasure
from stagepost.spending import UsageQuery
from stagepost.stores import calls
from stagepost.stores.postgres import call_writes, ledger, retention
from stagepost.stores.postgres.address import address_of
from stagepost.stores.postgres.connections import connect
from stagepost.stores.sqlite.folder import DATABASE
from support.calls import KEY, answered, result, sent
from support.plans import plan_of, wholly_read
from support.postgres_worlds import PostgresWorlds
from support.tasks import failed
from support.world import EVERYBODY, World, a_world, checkpoint, new_id, open_sqlite

ACME: Final = Scope("acme", "ada")
QUERY: Final = UsageQuery(date(2020, 1, 1), date(2030, 1, 1), ("day", "model"))

# PostgreSQL


def reading() -> Mapping[str, str]:
    """Each question of the port's, as a statement."""
    q, task_id = ledger._Question, new_id()
    return {
        "find": calls.find(q(), task_id, ACME, task_id, 10),
        "unknown": calls.unknown(q(), ACME, task_id, 10),
        "memo": calls.memo(q(), task_id, KEY),
        "memos": calls.memos(q(), task_id, task_id, 10),
        "tally": calls.tally(q(), task_id, KEY.path),
        "tries": calls.tries(q(), task_id, KEY),
        "bodies": calls.bodies(q(), task_id, task_id, ACME),
        "spent": calls.spent(q(), task_id, ACME),
        "spent by step": calls.spent_by_step(q(), task_id, ACME, "", 10),
        "usage": calls.usage(q(), ACME, QUERY),
    }


STATEMENTS: Final = {
    **reading(),
    "begin": call_writes._BEGIN,
    "end": call_writes._END,
    "note": call_writes._NOTE,
    "any lost": calls.ANY_LOST,
    "waive": call_writes._WAIVE,
    "drop": call_writes._DROP,
    "drop these": call_writes._DROP_THESE,
    "left": call_writes._LEFT,
    "blobs": retention._BLOBS,
    "stones": retention._OLD_STONES,
}

FILL: Final = """
INSERT INTO calls (task_id, id, tenant, "user", type, path, request_hash, n, provider, model,
    attempt, fence, steps, will_input, will_output, will_cost, redacted, request_sha256,
    request_size, started_at)
SELECT gen_random_uuid(), gen_random_uuid(), 'acme', 'ada', 'review', 'a', 'b', 0, 'c', 'd', 1, 1,
    1, 1, 1, 1, false, 'e', 1, 1 FROM generate_series(1, 3000);
INSERT INTO open_calls SELECT task_id, id, tenant, type, fence, true FROM calls;
INSERT INTO call_bodies SELECT task_id, id, 'answer', false, '{}', null FROM calls;
INSERT INTO call_usage SELECT 'tenant ' || n, n, 'u', 't', 'p', 'm', 1, 1, 1, 1, 1, 1, 1, 1, 1, 1
    FROM generate_series(1, 3000) AS n;
INSERT INTO tombstones (task_id, tenant, "user", at)
SELECT task_id, tenant, "user", 1 FROM calls"""


@pytest.fixture(scope="module")
def database() -> dict[str, list[list[str]]]:
    """The plans of each statement, once they were made."""
    return {}


@pytest.mark.parametrize("name", STATEMENTS)
async def test_a_plan_made_when_there_was_little_is_one_for_much(
    name: str, postgres_worlds: PostgresWorlds, tmp_path: Path, database: dict[str, list[list[str]]]
) -> None:
    if not database:
        await make_plans(postgres_worlds, tmp_path, database)
    read = {table for plan in database[name] for table in wholly_read(plan)}
    # Of the open calls only those are looked through that were not noted yet: they are in flight.
    allowed = {"open_calls"} if name in {"any lost", "note", "usage"} else set[str]()
    # Those two are no statements of the ledger's own: of the others' tables they may read all.
    allowed |= {"blobs": {"blobs"}, "stones": {"tombstones"}}.get(name, set())
    assert read <= allowed


async def make_plans(
    worlds: PostgresWorlds, folder: Path, plans: dict[str, list[list[str]]]
) -> None:
    async with a_world(worlds.open, folder) as world:
        schema = worlds._places[world.folder].schema
        backend = await connect(address_of(worlds.url(schema)))
        for change in ("SELECT 1", FILL, "ANALYZE"):
            await backend.execute(change)
            for name, statement in STATEMENTS.items():
                plans.setdefault(name, []).append(await plan_of(backend, statement))
        await backend.execute("TRUNCATE calls, open_calls, call_bodies, call_usage, tombstones")
        await backend.close()


# SQLite

LARGE: Final = "calls|call_bodies|open_calls|call_usage|tombstones|[a-z]"
WHOLE: Final = re.compile(rf"SCAN ({LARGE})$")


@pytest.fixture
def statements() -> Iterator[set[str]]:
    """Every statement that SQLite runs while a test lasts."""
    seen: set[str] = set()

    def trace(_cursor: object, statement: str, _bindings: object) -> bool:
        seen.add(statement)
        return True

    def hook(connection: apsw.Connection) -> None:
        connection.exec_trace = trace

    apsw.connection_hooks.append(hook)
    yield seen
    apsw.connection_hooks.remove(hook)


async def live(world: World) -> None:
    """Every verb of the ledger that is on somebody's way, at least once."""
    claimed = await world.running()
    task_id, ledger = claimed.task_id, world.store.calls
    call = await answered(world, claimed)
    lost = await sent(world, claimed)
    await world.store.checkpoint(claimed.lease, checkpoint())
    for after in (None, call.id):
        await ledger.find(task_id, ACME, after, 10)
        await ledger.memos(task_id, after, 10)
        await ledger.unknown(ACME, after, 10)
        await ledger.spent_by_step(task_id, ACME, after, 10)
    await ledger.memo(task_id, KEY)
    await ledger.tally(task_id, KEY.path)
    await ledger.tries(task_id, KEY)
    await ledger.bodies(task_id, call.id, ACME)
    await ledger.spent(task_id, ACME)
    await ledger.usage(ACME, QUERY)
    await ledger.usage(EVERYBODY, QUERY)
    await world.store.settle(claimed.lease, Drained())
    await ledger.note_unknown(10)
    await ledger.end(task_id, lost.id, result())
    again = await world.reclaim(task_id)
    await world.store.settle(again.lease, failed(None))
    await world.redrive(task_id, from_step=checkpoint().path)
    await world.cancel(task_id)
    wish = Erasure("eve", (await world.task(task_id)).seq, "hash")
    await world.store.retention.erase(task_id, EVERYBODY, wish)
    await world.store.retention.prune_tombstones(older_than=0.0, limit=10)
    found = await ledger.find(task_id, ACME, None, 10)
    assert [each.state for each in found] == [CallState.RESULT] * 2


async def test_sqlite_finds_every_call_by_an_index(statements: set[str], tmp_path: Path) -> None:
    async with a_world(open_sqlite, tmp_path / "data") as world:
        statements.clear()
        await live(world)
        path = world.folder / DATABASE
    asked = [text for text in statements if "call" in text or "tombstones" in text]
    assert len(asked) > 25
    connection = apsw.Connection(str(path))
    whole = [
        (statement, detail)
        for statement in asked
        for *_, detail in connection.execute(f"EXPLAIN QUERY PLAN {statement}", nothings(statement))
        if WHOLE.match(detail)
    ]
    connection.close()
    assert whole == []


def nothings(statement: str) -> tuple[None, ...]:
    """As many nothings as the statement has parameters."""
    numbers = {int(number) for number in re.findall(r"\?(\d+)", statement)}
    return (None,) * (max(numbers, default=0) or statement.count("?"))
