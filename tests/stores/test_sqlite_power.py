"""What was answered survives a power cut, since every commit is synced."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from stagepost.calls import CallState
from stagepost.records import Filter
from stagepost.stores.sqlite import SqliteStore, checkpointer
from stagepost.task import Status
from support.calls import result, sent
from support.lossy_vfs import lossy_disk
from support.tasks import failed, succeeded
from support.world import EVERYBODY, World, a_world, checkpoint, open_sqlite


@dataclass
class Client:
    """Runs tasks and notes what it was answered, each time only after the answer came."""

    world: World
    told: dict[str, Status] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=dict)
    calls: dict[tuple[str, str], CallState] = field(default_factory=dict)

    async def submit(self) -> None:
        task_id = await self.world.submit()
        self.told.setdefault(task_id, Status.QUEUED)

    async def work(self, slots: int) -> None:
        for claimed in await self.world.claim(slots):
            self.told[claimed.task_id] = Status.RUNNING
            call = await sent(self.world, claimed)
            self.calls[claimed.task_id, call.id] = CallState.INTENT
            await self.world.store.calls.end(claimed.task_id, call.id, result())
            self.calls[claimed.task_id, call.id] = CallState.RESULT
            await self.world.store.checkpoint(claimed.lease, checkpoint())
            self.steps[claimed.task_id] = 1
            dies = int(claimed.task_id[-1], 16) < 4
            await self.world.store.settle(claimed.lease, failed(None) if dies else succeeded())
            self.told[claimed.task_id] = Status.DEAD_LETTER if dies else Status.COMPLETED

    async def run(self, seconds: float) -> None:
        """Work without a pause, for so much real time."""
        await self.world.hand()
        end = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < end:
            await asyncio.gather(*(self.submit() for _ in range(5)), self.work(3))


async def broken_promises(client: Client, folder: Path) -> list[str]:
    """What the store in the folder does not know, or knows less of, than the client was told."""
    async with a_world(open_sqlite, folder) as after:
        found = await after.store.find(EVERYBODY, Filter(limit=100_000))
        tasks = {task.id: task for task in found}
        news = await after.store.news(dict.fromkeys(tasks, 0), 1_000)
        broken = [each async for each in broken_ledger(client, after)]
    broken += [f"{task_id} is gone" for task_id in client.told if task_id not in tasks]
    for task_id, task in tasks.items():
        if FURTHER[task.status] < FURTHER[client.told.get(task_id, Status.QUEUED)]:
            broken.append(f"{task_id} was {client.told[task_id]} and is {task.status}")
        if task.saved_steps < client.steps.get(task_id, 0):
            broken.append(f"a step of {task_id} is gone")
        if [event.seq for event in news[task_id]] != list(range(1, task.seq + 1)):
            broken.append(f"the history of {task_id} has a gap")
    return broken


async def broken_ledger(client: Client, after: World) -> AsyncIterator[str]:
    for (task_id, call_id), state in client.calls.items():
        found = await after.store.calls.find(task_id, EVERYBODY, None, 10)
        now = [call.state for call in found if call.id == call_id]
        if not now or (state is CallState.RESULT and now != [state]):
            yield f"the call {call_id} was {state} and is {now}"


FURTHER = {Status.QUEUED: 0, Status.RUNNING: 1, Status.COMPLETED: 2, Status.DEAD_LETTER: 2}
CUTS = 10


async def cut_again_and_again(tmp_path: Path, synchronous: str | None = None) -> list[str]:
    """Cut the power again and again while a client works; what was promised and is not kept."""
    known = []
    with lossy_disk() as disk:
        async with a_world(open_sqlite, tmp_path / "data") as world:
            if synchronous is not None:
                assert isinstance(world.store, SqliteStore)
                world.store._connection.pragma("synchronous", synchronous)
            client = Client(world)
            work = asyncio.create_task(client.run(CUTS * 0.03))
            for number in range(CUTS):
                await asyncio.sleep(0.02)
                known.append(
                    Client(world, dict(client.told), dict(client.steps), dict(client.calls))
                )
                luck = Random(number) if number % 2 else None
                disk.cut(world.folder, tmp_path / str(number), luck)
            await work
    assert len(client.told) > 20
    promises = [broken_promises(then, tmp_path / str(n)) for n, then in enumerate(known)]
    return [broken for promise in promises for broken in await promise]


async def test_every_answer_survives_a_power_cut(tmp_path: Path) -> None:
    assert await cut_again_and_again(tmp_path) == []


async def test_every_answer_survives_while_the_log_is_moved_into_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpointer, "_START", 5)
    monkeypatch.setattr(checkpointer, "_RESET", 60)
    assert await cut_again_and_again(tmp_path) == []


@pytest.mark.parametrize("synchronous", ["OFF", "NORMAL"])
async def test_without_a_sync_at_each_commit_answers_are_lost(
    tmp_path: Path, synchronous: str
) -> None:
    """The proof that the tests above can fail."""
    broken = await cut_again_and_again(tmp_path, synchronous)
    assert any("is gone" in promise for promise in broken)


async def test_a_store_that_was_closed_is_whole_without_its_log(tmp_path: Path) -> None:
    with lossy_disk() as disk:
        async with a_world(open_sqlite, tmp_path / "data") as world:
            client = Client(world)
            await client.submit()
        disk.cut(world.folder, tmp_path / "left")
        assert disk.unsynced == 0
        assert sorted(path.name for path in (tmp_path / "left").iterdir()) == ["stagepost.db"]
        assert await broken_promises(client, tmp_path / "left") == []
