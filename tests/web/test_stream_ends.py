"""How streams end: by their readers, and by what is behind them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from stagepost.caller import Caller
from stagepost.records import Scope
from stagepost.web import create_app
from web.kit import Engine, alive, engine_in, http, until
from web.sse_reader import ended, reading, running


async def test_a_quiet_stream_is_kept_awake(
    engine: Engine, app: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stagepost.web.stream.QUIET", 0.02)
    task = await running(engine)
    async with reading(app, task.task_id) as stream:
        await stream.until(lambda: stream.parsed.comments >= 3)
    assert stream.parsed.names == ["status"]


async def test_a_client_that_goes_frees_everything(engine: Engine, app: Any) -> None:
    task = await running(engine)
    before = asyncio.all_tasks()
    for _ in range(5):
        async with reading(app, task.task_id) as stream:
            await stream.until(lambda: engine.notifier.watchers == 1)
        assert engine.notifier.watchers == 0
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


async def test_a_client_that_goes_at_once(engine: Engine, app: Any) -> None:
    task = await running(engine)
    async with reading(app, task.task_id):
        pass
    assert engine.notifier.watchers == 0


async def test_a_reader_that_takes_nothing_is_cut(
    engine: Engine, app: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stagepost.web.stream.STALL", 0.05)
    task = await running(engine)
    async with reading(app, task.task_id) as stream:
        await stream.until(lambda: engine.notifier.watchers == 1)
        stream.stall()
        await engine.worker.progress(task, 10)
        await until(lambda: engine.notifier.watchers == 0)
        stream.stalled.set()
    assert not stream.closed
    async with http(engine) as client:
        assert (await client.get("/healthz")).status_code == 200


async def test_a_reader_that_is_too_slow_is_cut_and_resumes(engine: Engine, app: Any) -> None:
    task = await running(engine)
    async with reading(app, task.task_id) as stream:
        await stream.until(lambda: engine.notifier.watchers == 1)
        stream.stall()
        for number in range(60):
            await engine.worker.progress(task, number, "x" * 10_000)
        # Its buffer is full by now; reading on, it finds that it has been cut.
        await engine.notifier._serve()
        stream.stalled.set()
        await until(lambda: engine.notifier.watchers == 0)
    seen = stream.parsed.seqs
    assert len(seen) < 60
    last = str(seen[-1]) if seen else "2"
    async with reading(app, task.task_id, last=last) as again:
        await engine.worker.complete(task)
        await ended(again)
    assert seen + again.parsed.seqs == list(range(3, 64))


async def test_a_draining_process_ends_its_streams_politely(engine: Engine, app: Any) -> None:
    task = await running(engine)
    async with reading(app, task.task_id) as stream:
        await stream.until(lambda: engine.notifier.watchers == 1)
        engine.parts.draining.set()
        await ended(stream)
        assert stream.parsed.names == ["status"]
    async with reading(app, task.task_id) as late:
        await ended(late)
        assert late.status == 503


async def test_the_streams_of_a_revoked_key_end(tmp_path: Path) -> None:
    async with engine_in(tmp_path, auth=("keys",)) as engine:
        app = create_app(engine.parts)
        caller = Caller("acme", "ann", Scope("acme"))
        task_id = (await engine.submit(caller=caller)).task_id
        mine, theirs = await engine.key("read"), await engine.key("read")
        headers = [{"authorization": of["Authorization"]} for of in (mine, theirs)]
        async with (
            alive(app),
            reading(app, task_id, **headers[0]) as revoked,
            reading(app, task_id, **headers[1]) as other,
        ):
            await until(lambda: engine.notifier.watchers == 2)
            first = (await engine.store.keys("acme"))[0]
            await engine.store.revoke_key(first.id, "acme")
            await ended(revoked)
            assert not other.closed
            async with reading(app, task_id, **headers[1]) as again:
                assert again.status == 200


async def test_a_store_that_fails_ends_the_stream_so_that_it_comes_back(
    engine: Engine, app: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stagepost.errors import StoreUnavailable  # noqa: PLC0415

    task = await running(engine)
    async with reading(app, task.task_id) as stream:
        await stream.until(lambda: engine.notifier.watchers == 1)

        async def get(*_: Any) -> Any:
            raise StoreUnavailable("Away.")

        monkeypatch.setattr(engine.store, "get", get)
        await engine.worker.complete(task, 7)
        await ended(stream)
        assert stream.parsed.names == ["status"]
        monkeypatch.undo()
    async with reading(app, task.task_id, last="2") as again:
        await ended(again)
    assert again.parsed.seqs == [3]
