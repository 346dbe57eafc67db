"""Many processes on one PostgreSQL: killed, stopped, and the database itself taken away.

`CHAOS_AWAY=180` takes it away for so many seconds, instead of twice the length of a lease.
"""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import Random

import pytest

from chaos.checker import history
from chaos.recorder import LONG, Life, Recorder
from chaos.scenes import TIMES, answered, proven, seeded, submit, unbroken
from engine_kit.engine import lines, until
from support.postgres import Server
from support.postgres import server as own_server

FRONT = ("api",)
WORKER = ("maintenance", "worker")
LEASE = 1.0
AWAY = float(os.environ.get("CHAOS_AWAY", 4 * LEASE))


@pytest.fixture
def forgetful() -> Iterator[Server]:
    """A server whose commits wait for no disk."""
    with own_server() as server:
        server.stop()
        server.forget_what_is_not_synced()
        server.start()
        yield server


@pytest.fixture(scope="module")
def durable() -> Iterator[Server]:
    """A server that these tests may stop, and that keeps what it has committed."""
    with own_server() as server:
        yield server


@pytest.fixture
def recorder(durable: Server, tmp_path: Path) -> Recorder:
    return Recorder(tmp_path, durable.url_of(f"chaos_{abs(hash(tmp_path)) % 10**12}"))


@asynccontextmanager
async def front(recorder: Recorder) -> AsyncIterator[Life]:
    """The process that takes tasks in and is watched; nobody harms it."""
    async with recorder.life(cut_power=False, parts=FRONT) as life:
        yield life


@asynccontextmanager
async def worker(recorder: Recorder, **plan: object) -> AsyncIterator[Life]:
    async with recorder.life(cut_power=False, parts=WORKER, **plan) as life:
        yield life


def walks(life: Life, recorder: Recorder, count: int, **ask: object) -> None:
    """Tasks that take a while."""
    for number in range(count):
        key = f"walk-{number}"
        life.submit(key, "walk", recorder.ask(key, **ask))


def reasons(recorder: Recorder) -> Counter[str]:
    """Why tasks were queued, over all of them."""
    events = history(recorder).events.values()
    return Counter(
        data["reason"] for of_task in events for _, kind, data in of_task if kind == "queued"
    )


async def test_two_workers_that_are_killed_at_random_break_no_guarantee(
    recorder: Recorder,
) -> None:
    rng = seeded("killed workers")
    async with front(recorder) as life, AsyncExitStack() as workers:
        over = asyncio.Event()
        slots = [
            asyncio.create_task(mortal(recorder, rng, over), name=f"worker {number}")
            for number in range(2)
        ]
        workers.push_async_callback(asyncio.wait, slots)
        workers.callback(over.set)
        for number in range(100 * TIMES):
            if number > 20 * TIMES and recorder.lives > 8 and reasons(recorder)["rescued"]:
                break
            keys = [f"{number}-{n}" for n in range(rng.randint(1, 15))]
            submit(life, recorder, keys, rng)
            key = f"{number}-long"  # long enough to be in a worker's hands when that is killed
            life.submit(key, "walk", recorder.ask(key, steps=10, pause=0.05))
            await answered(life, recorder, keys)
            life.watch(recorder.log.accepted[rng.choice(keys)])
            if rng.random() < 0.2:
                life.say(cancel=rng.choice(sorted(recorder.log.accepted.values())))
            await asyncio.sleep(rng.uniform(0, 0.3))
    await unbroken(recorder)
    assert recorder.lives > 8, "workers were killed"
    assert reasons(recorder)["rescued"], "and their claims taken back"


async def mortal(recorder: Recorder, rng: Random, over: asyncio.Event) -> None:
    """A worker that is killed, or sometimes stopped past its lease, again and again."""
    while not over.is_set():
        async with worker(recorder) as life:
            await asyncio.sleep(rng.uniform(0.2, 1.5))
            if rng.random() < 0.3:
                life.signal(signal.SIGSTOP)
                await asyncio.sleep(rng.uniform(0.5, 2.5) * LEASE)
                life.signal(signal.SIGCONT)
                await asyncio.sleep(rng.uniform(0, 0.3))


async def test_a_worker_stopped_past_its_lease_is_refused_when_it_goes_on(
    recorder: Recorder,
) -> None:
    assert await overtaken(recorder) == []
    assert reasons(recorder)["rescued"] >= 12


async def test_without_the_fence_it_is_not(recorder: Recorder) -> None:
    wrong = await overtaken(recorder, breaks=("no-fence",))
    assert any(line.startswith(("2", "3")) for line in wrong), wrong


async def overtaken(recorder: Recorder, **plan: object) -> list[str]:
    """A worker has every task and is stopped; another one takes them; the first goes on.

    No heartbeat tells it meanwhile that it was thought dead, so that it goes on to write.
    """
    deaf = worker(recorder, concurrency=16, deaf_for=10.0, **plan)
    async with front(recorder) as life, deaf as first:
        walks(life, recorder, 12, steps=30, pause=0.1, hesitates=1.0)
        await answered(life, recorder, list(recorder.log.asked))
        await until(lambda: begun(recorder) == 12, LONG)
        first.signal(signal.SIGSTOP)
        async with worker(recorder, concurrency=16, **plan):
            await until(lambda: begun(recorder) == 24, LONG)
            first.signal(signal.SIGCONT)
            await life.idle()
    return await proven(recorder)


def begun(recorder: Recorder) -> int:
    """How often a claim has come past a task's first step."""
    return sum(
        line.startswith("saved") and " step-0 " in line for line in lines(recorder.side_effects)
    )


async def test_a_database_that_is_away_for_longer_than_the_lease_costs_nothing(
    recorder: Recorder, durable: Server
) -> None:
    lease = 2 * LEASE
    workers = [worker(recorder, lease=lease, concurrency=50) for _ in range(2)]
    async with front(recorder) as life, workers[0], workers[1]:
        walks(life, recorder, 100, steps=20, pause=0.5)
        await answered(life, recorder, list(recorder.log.asked))
        await until(lambda: begun(recorder) == 100, LONG)
        for task_id in recorder.log.accepted.values():
            life.watch(task_id)
        await asyncio.to_thread(durable.stop)
        await asyncio.sleep(AWAY)
        await asyncio.to_thread(durable.start)
        await life.idle()
    await unbroken(recorder)
    assert reasons(recorder) == {"submitted": 100}, "nobody was rescued"
    with_starts = history(recorder).events.values()
    starts = [data for events in with_starts for _, kind, data in events if kind == "started"]
    assert [data["attempt"] for data in starts] == [1] * 100, "and no attempt was spent"


async def test_a_database_that_crashes_under_load_loses_nothing_that_was_accepted(
    recorder: Recorder, durable: Server
) -> None:
    rng = seeded("a crash of the database")
    async with front(recorder) as life, worker(recorder), worker(recorder):
        for crash in range(2 * TIMES):
            enough = asyncio.Event()
            feeding = asyncio.create_task(feed(life, recorder, rng, f"{crash}", enough))
            await asyncio.sleep(rng.uniform(0.3, 1.0))
            await asyncio.to_thread(durable.crash)
            assert not feeding.done(), "it crashed under load"
            await asyncio.sleep(rng.uniform(0, 0.3))
            enough.set()
            await asyncio.to_thread(durable.start)
            await feeding
        await life.idle()
    await unbroken(recorder)


async def feed(
    life: Life, recorder: Recorder, rng: Random, name: str, enough: asyncio.Event | None = None
) -> None:
    """Sixty rounds; where somebody says when there is enough, more of them, up to a thousand."""
    for number in range(1_000):
        if number >= 60 and (enough is None or enough.is_set()):
            return
        submit(life, recorder, [f"{name}-{number}-{n}" for n in range(4)], rng)
        await asyncio.sleep(0.02)


async def test_a_commit_that_waits_for_no_disk_is_found_by_such_a_crash(
    tmp_path: Path, forgetful: Server
) -> None:
    wrong: list[str] = []
    for number in range(5):
        if not wrong:
            (tmp_path / str(number)).mkdir()
            recorder = Recorder(tmp_path / str(number), forgetful.url_of(f"chaos_{number}"))
            async with front(recorder) as life:
                await feed(life, recorder, seeded("no syncs"), "lost")
                await asyncio.to_thread(forgetful.crash)
            await asyncio.to_thread(forgetful.start)
            wrong = await proven(recorder)
    assert any(line.startswith("1") and "is gone" in line for line in wrong)
