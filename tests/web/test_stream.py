"""Live streams: engine-rules 6 and http-api "Events"."""

from typing import Any

import pytest

from stagepost.blobs import OFFLOAD_OVER
from stagepost.caller import Caller
from stagepost.records import Resume, Scope
from stagepost.task import CancelRequest
from web.kit import API, Engine, http
from web.sse_reader import Connection, ended, reading, running

ALL = Scope(None)


class TestOpening:
    async def test_a_fresh_stream_begins_with_a_snapshot(self, engine: Engine, app: Any) -> None:
        task = await running(engine)
        await engine.worker.progress(task, 30, "reading")
        async with reading(app, task.task_id) as stream:
            await stream.until(lambda: bool(stream.parsed.events))

            first = stream.parsed.events[0]
            assert (first.event, first.id) == ("status", "3")
            async with http(engine) as client:
                status = (await client.get(f"{API}/tasks/{task.task_id}/status")).json()
            assert first.data == {**status, "seq": 3}
            assert stream.parsed.retry == "2000"
            assert stream.headers["content-type"] == "text/event-stream; charset=utf-8"
            assert stream.headers["cache-control"] == "no-store"
            assert stream.headers["x-accel-buffering"] == "no"

    async def test_then_come_numbered_events_and_the_end(self, engine: Engine, app: Any) -> None:
        task = await running(engine)
        async with reading(app, task.task_id) as stream:
            await engine.worker.progress(task, 10, "reading")
            await engine.worker.step(task, "parse")
            await engine.worker.complete(task, {"answer": 42})
            await ended(stream)

        assert stream.parsed.names == ["status", "progress", "step", "completed"]
        assert stream.parsed.seqs == [3, 4, 5]
        progress, step, completed = (event.data for event in stream.parsed.events[1:])
        assert progress.pop("timestamp").endswith("Z")
        assert progress == {"progress": 10, "message": "reading", "step": "work"}
        assert step.pop("timestamp").endswith("Z")
        assert step == {"name": "parse", "path": "parse", "state": "saved"}
        assert set(completed) == {
            "progress", "result", "model", "processingMs", "traceId", "timestamp",
        }  # fmt: skip
        assert completed["result"] == {"answer": 42}

    async def test_a_task_that_is_not_due_starts_at_zero(self, engine: Engine, app: Any) -> None:
        task_id = (await engine.submit(delay=3600.0)).task_id
        async with reading(app, task_id) as stream:
            await stream.until(lambda: bool(stream.parsed.events))
            assert stream.parsed.events[0].id == "0"
        async with reading(app, task_id, last="0") as again:
            await again.until(lambda: bool(again.parsed.events))
            assert again.parsed.events[0].id is None
            assert "reset" not in again.parsed.events[0].data
            await engine.client.cancel(task_id)
            await ended(again)
        assert (again.parsed.names, again.parsed.seqs) == (["status", "cancelled"], [1])

    @pytest.mark.parametrize("end", ["complete", "bury", "obey"])
    async def test_a_task_that_is_over_gives_its_snapshot_and_its_end(
        self, engine: Engine, app: Any, end: str
    ) -> None:
        task = await running(engine)
        if end == "obey":
            await engine.store.cancel(task.task_id, ALL, CancelRequest("ann", "why"))
        await getattr(engine.worker, end)(task)
        async with reading(app, task.task_id) as stream:
            await ended(stream)

        names = {"complete": "completed", "bury": "failed", "obey": "cancelled"}
        assert stream.parsed.names == ["status", names[end]]
        assert [event.id for event in stream.parsed.events] == ["2", "3"]
        assert stream.parsed.events[0].data["seq"] == 3
        assert stream.parsed.events[0].data["final"] is True

    async def test_a_failed_event_says_why(self, engine: Engine, app: Any) -> None:
        task = await running(engine)
        await engine.worker.bury(task)
        async with reading(app, task.task_id) as stream:
            await ended(stream)
        data = stream.parsed.events[-1].data
        data.pop("timestamp")
        assert data == {"message": "It is BUG.", "failureKind": "BUG"}

    @pytest.mark.parametrize("size", [OFFLOAD_OVER - 10, OFFLOAD_OVER])
    async def test_a_large_result_comes_as_its_address(
        self, engine: Engine, app: Any, size: int
    ) -> None:
        task = await running(engine)
        async with reading(app, task.task_id) as stream:
            await engine.worker.complete(task, "x" * size)
            await ended(stream)
        data = stream.parsed.events[-1].data
        if size < OFFLOAD_OVER:
            assert data["result"] == "x" * size
            assert "resultUrl" not in data
        else:
            assert data["result"] is None
            assert data["resultUrl"] == f"{API}/tasks/{task.task_id}/result"
            assert data["resultBytes"] == size + 2

    @pytest.mark.parametrize(
        ("method", "query", "status"),
        [("HEAD", b"", 405), ("POST", b"", 405), ("GET", b"aftr=1", 400)],
    )
    async def test_what_is_no_stream(
        self, engine: Engine, app: Any, method: str, query: bytes, status: int
    ) -> None:
        task = await running(engine)
        connection = Connection()
        scope = {
            "type": "http", "method": method, "path": f"{API}/tasks/{task.task_id}/progress",
            "raw_path": b"", "root_path": "", "query_string": query,
            "headers": [(b"host", b"localhost")],
        }  # fmt: skip
        await app(scope, connection.receive, connection.send)

        assert connection.status == status
        assert connection.headers["content-type"] == "application/problem+json"

    async def test_another_tenants_task_is_not_there(self, engine: Engine, app: Any) -> None:
        task_id = (await engine.submit(caller=Caller("acme", "ann"))).task_id
        async with reading(app, task_id, **{"x-tenant-id": "other"}) as stream:
            await ended(stream)
            assert stream.status == 404
        async with reading(app, task_id) as stream:
            assert stream.status == 200


class TestResuming:
    async def test_behind_each_number(self, engine: Engine, app: Any) -> None:
        task = await running(engine)
        for percent in range(10, 60, 10):
            await engine.worker.progress(task, percent)
        await engine.worker.complete(task)
        for last in range(8):
            async with reading(app, task.task_id, last=str(last)) as stream:
                await ended(stream)
            first = stream.parsed.events[0]
            assert (first.event, first.id) == ("status", None)
            assert "reset" not in first.data
            assert stream.parsed.seqs == list(range(last + 1, 9))

    async def test_after_in_the_query_is_the_same(self, engine: Engine, app: Any) -> None:
        task = await running(engine)
        async with reading(app, task.task_id, after="1") as stream:
            await stream.until(lambda: len(stream.parsed.events) == 2)
            assert stream.parsed.seqs == [2]

    async def test_the_header_wins_since_it_is_newer(self, engine: Engine, app: Any) -> None:
        task = await running(engine)
        await engine.worker.progress(task, 10)
        async with reading(app, task.task_id, after="0", last="2") as stream:
            await stream.until(lambda: len(stream.parsed.events) == 2)
            assert stream.parsed.seqs == [3]

    @pytest.mark.parametrize("end", ["complete", "bury"])
    async def test_the_last_event_of_what_is_over_has_nothing_behind_it(
        self, engine: Engine, app: Any, end: str
    ) -> None:
        task = await running(engine)
        await getattr(engine.worker, end)(task)
        async with reading(app, task.task_id, last="3") as stream:
            await ended(stream)
        assert (stream.status, stream.body) == (204, b"")

    async def test_the_last_event_of_what_runs_has(self, engine: Engine, app: Any) -> None:
        task = await running(engine)
        async with reading(app, task.task_id, last="2") as stream:
            await engine.worker.complete(task)
            await ended(stream)
        assert (stream.status, stream.parsed.seqs) == (200, [3])

    @pytest.mark.parametrize("last", ["99", "x", "-1", "1.5", "9" * 30, "²", "٣"])
    async def test_an_id_that_was_never_given_is_a_reset(
        self, engine: Engine, app: Any, last: str
    ) -> None:
        task = await running(engine)
        async with reading(app, task.task_id, last=last) as stream:
            await stream.until(lambda: bool(stream.parsed.events))
            first = stream.parsed.events[0]
            assert (first.id, first.data["reset"]) == ("2", True)
            await engine.worker.complete(task)
            await ended(stream)
        assert stream.parsed.seqs == [3]

    async def test_an_id_behind_which_events_were_pruned_is_a_reset(
        self, engine: Engine, app: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        task = await running(engine)
        for percent in (10, 20, 30):
            await engine.worker.progress(task, percent)
        events = engine.store.events

        async def pruned(task_id: str, after: int, limit: int) -> Any:
            return [event for event in await events(task_id, after, limit) if event.seq > 3]

        monkeypatch.setattr(engine.store, "events", pruned)
        async with reading(app, task.task_id, last="1") as stream:
            await stream.until(lambda: bool(stream.parsed.events))
            assert stream.parsed.events[0].data["reset"] is True
            assert stream.parsed.events[0].id == "5"
        async with reading(app, task.task_id, last="3") as stream:
            await stream.until(lambda: len(stream.parsed.events) == 3)
            assert stream.parsed.seqs == [4, 5]

    async def test_a_dead_letter_that_was_sent_back_goes_on(self, engine: Engine, app: Any) -> None:
        task = await running(engine)
        await engine.worker.bury(task)
        await engine.store.redrive(task.task_id, ALL, "ann", Resume(), 4)
        async with reading(app, task.task_id, last="0") as stream:
            await engine.worker.complete(await engine.worker.claim())
            await ended(stream)
        # `failed` amid the history does not end the stream: the task is not over.
        assert stream.parsed.names[1:] == [
            "queued", "started", "failed", "redriven", "started", "completed",
        ]  # fmt: skip
        async with reading(app, task.task_id, last="3") as stream:
            await ended(stream)
        assert stream.parsed.names[1:] == ["redriven", "started", "completed"]

    async def test_a_page_that_ends_with_failed_does_not_end_the_stream(
        self, engine: Engine, app: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        task = await running(engine)
        await engine.worker.bury(task)
        await engine.store.redrive(task.task_id, ALL, "ann", Resume(), 4)
        await engine.worker.complete(await engine.worker.claim())
        for module in ("sse", "stream"):
            monkeypatch.setattr(f"stagepost.web.{module}.PAGE", 3)
        async with reading(app, task.task_id, last="0") as stream:
            await ended(stream)
        assert stream.parsed.names[3:] == ["failed", "redriven", "started", "completed"]

    async def test_a_long_history_is_read_page_by_page(self, engine: Engine, app: Any) -> None:
        task = await running(engine)
        for number in range(450):
            await engine.worker.progress(task, number // 5)
        await engine.worker.complete(task)
        async with reading(app, task.task_id, last="0") as stream:
            await ended(stream)
        assert stream.parsed.seqs == list(range(1, 454))
