"""No verb on a task's way reads a whole table: each finds its rows by an index."""

import re
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from stagepost.outcome import Drained
from stagepost.records import Filter, Idempotency, Scope
from stagepost.retention import Erasure
from stagepost.signals import NewWait, Signal
from stagepost.stores.sqlite import queues
from stagepost.stores.sqlite.folder import DATABASE
from stagepost.task import Status
from support.fences import artifact
from support.tasks import failed, succeeded, waiting
from support.world import DAY, EVERYBODY, World, a_world, checkpoint, new_id, note, open_sqlite

LARGE = (
    "tasks|events|steps|pool|inputs|failures|tags|artifacts|uploads|blobs|idempotency|waits|signals"
    "|tombstones|upload_uses|batches|unique_keys|keyed|backlog"
)
WAIT = NewWait("wait_for go", "wait_for go", "hash", "go")
WHOLE = re.compile(rf"SCAN ({LARGE}|[a-z])$")


@pytest.fixture
def statements() -> Iterator[set[str]]:
    """Every statement that is run while a test lasts."""
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
    """Every verb on a task's way, at least once."""
    store = world.store
    for outcome in (succeeded(), failed(1.0), failed(None), waiting(1.0), Drained()):
        claimed = await world.running(
            tags=("x",), idempotency=Idempotency("submit", new_id(), "content")
        )
        await store.progress(claimed.lease, note(1))
        await store.checkpoint(claimed.lease, checkpoint(), note(2))
        await store.attach(claimed.lease, artifact())
        await store.waits.sleep(claimed.lease, "sleep", 1.0)
        await store.waits.listen(claimed.lease, WAIT)
        for name in ("go", "stop"):
            signal = Signal(new_id(), name, "1", "ada")
            await store.waits.send(claimed.task_id, EVERYBODY, signal)
        await store.waits.listen(claimed.lease, WAIT)
        await store.settle(claimed.lease, outcome)
        if outcome == Drained():
            await world.cancel(claimed.task_id)
    await world.submit(input='"' + "x" * 20_000 + '"')
    world.clock.advance(2)
    await store.release_due(10)
    await store.beat((await world.hand()).id, "running")
    await world.claim(9)
    await world.lose()
    (dead,) = await store.find(Scope("acme"), Filter(statuses=(Status.DEAD_LETTER,)))
    await world.redrive(dead.id, from_step="read")
    view = await world.view(dead.id)
    await store.events(dead.id, 0, 10)
    await store.news({dead.id: 0, view.task.id: 1}, 10)
    await store.steps(dead.id)
    await store.artifacts(dead.id)
    await store.failures(dead.id)
    await store.uploads("acme", [new_id()])
    await store.find(Scope("acme"), Filter(tag="x"))
    await store.lanes(["interactive"])
    await store.key("hash")
    await store.stage(new_id())
    await store.find(EVERYBODY, Filter())
    await keep_house(world, dead.id)


async def keep_house(world: World, task_id: str) -> None:
    """What the loops and people take away."""
    retention = world.store.retention
    await world.cancel(task_id)
    wish = Erasure("eve", (await world.task(task_id)).seq, "hash")
    await retention.erase(task_id, EVERYBODY, wish)
    await retention.prune_events("", older_than=0.0, limit=10)
    await retention.prune_tasks("", older_than=0.0, limit=10)
    await retention.prune_tombstones(older_than=0.0, limit=10)
    world.clock.advance(2 * DAY)
    await retention.prune_keys(10)
    keys = await retention.unreferenced(older_than=DAY, limit=10)
    await retention.forget_blobs(keys, older_than=DAY)
    await retention.strange_blobs(keys)


async def test_every_verb_finds_its_rows_by_an_index(statements: set[str], tmp_path: Path) -> None:
    async with a_world(open_sqlite, tmp_path / "data") as world:
        statements.clear()  # those that made the tables
        await live(world)
        database = world.folder / DATABASE
    asked = [text for text in statements if re.match(r"\s*(SELECT|INSERT|UPDATE|DELETE)", text)]
    assert len(asked) > 40
    connection = apsw.Connection(str(database))
    whole = [
        (statement, detail)
        for statement in asked
        for *_, detail in connection.execute(f"EXPLAIN QUERY PLAN {statement}", bindings(statement))
        if WHOLE.match(detail) and "json_each" not in detail and not by_key(statement)
    ]
    connection.close()
    assert whole == []


def bindings(statement: str) -> tuple[None, ...]:
    """As many nothings as the statement has parameters."""
    numbers = {int(number) for number in re.findall(r"\?(\d+)", statement)}
    return (None,) * (max(numbers, default=0) or statement.count("?"))


def by_key(statement: str) -> bool:
    """The newest tasks of everybody are read from the end of the table, and cut."""
    return "ORDER BY id DESC LIMIT" in statement


async def test_a_claim_reads_no_more_of_a_long_queue_than_it_takes(tmp_path: Path) -> None:
    """Counted in steps of SQLite's machine, since a plan does not tell how far a search goes."""
    database = tmp_path / "data" / DATABASE

    async def steps_with(more: int) -> int:
        async with a_world(open_sqlite, tmp_path / "data") as world:
            for _ in range(more):
                await world.submit(tenant="long", type="foreign")
                await world.submit(tenant="long")
            await world.submit(tenant="short")
        connection = apsw.Connection(str(database))
        steps = 0

        def step() -> bool:
            nonlocal steps
            steps += 1
            return False

        connection.set_progress_handler(step, 1)
        found = queues.behind(connection, "interactive", ("", ""), 100)
        connection.close()
        assert [queue[1:] for queue in found] == [
            ("long", "foreign"),
            ("long", "review"),
            ("short", "review"),
        ]
        return steps

    few = await steps_with(5)
    assert await steps_with(200) <= few + 10
