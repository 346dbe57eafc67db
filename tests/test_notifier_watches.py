"""Watchers of a process: each gets what lies behind its own number, once and in order."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stagepost import notifier
from stagepost.bus import Committed, Token
from stagepost.event import Event
from stagepost.notifier import BUFFER, Notifier, Watch
from web.kit import Engine, engine_in, until


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    async with engine_in(tmp_path) as made:
        yield made


async def seqs(watch: Watch, last: int) -> list[int]:
    """The numbers that a watcher gets, up to this one."""
    got: list[int] = []
    while not got or got[-1] < last:
        news = await watch.next(30)
        assert news, "nothing came"
        got += [item.seq for item in news if isinstance(item, Event)]
    return got


async def test_watchers_of_one_task_stand_at_different_numbers(engine: Engine) -> None:
    await engine.submit()
    task = await engine.worker.claim()
    for percent in range(5):
        await engine.worker.progress(task, percent)
    watches = [engine.notifier.watch(task.task_id, after) for after in (0, 3, 6, 7)]
    for watch in watches:
        engine.notifier.add(watch)
    await engine.worker.complete(task)

    assert [await seqs(watch, 8) for watch in watches] == [
        list(range(after + 1, 9)) for after in (0, 3, 6, 7)
    ]


async def test_a_lost_doorbell_costs_seconds_and_no_event(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifier, "_SWEEP", 0.05)
    deaf = Notifier(engine.store, _Silent())
    running = asyncio.create_task(deaf.run())
    await engine.submit()
    task = await engine.worker.claim()
    async with deaf.watch(task.task_id, 2) as watch:
        await engine.worker.progress(task, 5)
        assert await seqs(watch, 3) == [3]
    running.cancel()
    await asyncio.wait([running])


class _Silent:
    """A bus that loses every bell."""

    def ring(self, news: Committed) -> None: ...
    def emit(self, task_id: str, token: Token) -> None: ...
    def forget(self, task_id: str) -> None: ...
    def kept(self, task_id: str) -> Token | None: ...
    def listen(self, listener: object) -> "type[None]":
        return type(None)

    async def ping(self) -> None: ...
    async def close(self) -> None: ...


async def test_a_watcher_that_takes_nothing_is_cut(engine: Engine) -> None:
    task_id = (await engine.submit()).task_id
    async with engine.notifier.watch(task_id, 1) as watch:
        for offset in range(20):
            engine.notifier.token(task_id, Token("s", 1, offset, "x" * (BUFFER // 40)))
        assert watch.cut
        kept = await watch.next(1)
        assert 0 < len(kept) < 20
        assert await watch.next(30) == ()
    assert engine.notifier.watchers == 0


async def test_a_watcher_that_is_closed_is_woken(engine: Engine) -> None:
    task_id = (await engine.submit()).task_id
    async with engine.notifier.watch(task_id, 1) as watch:
        waiting = asyncio.create_task(watch.next(30))
        await until(lambda: engine.notifier.watchers == 1)
        await asyncio.sleep(0)
        watch.close()
        assert await waiting == ()
        assert await watch.next(30) == ()
