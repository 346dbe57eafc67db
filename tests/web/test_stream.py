"""Live streams: engine-rules 6 and http-api "Events"."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stagepost.blobs import OFFLOAD_OVER
from stagepost.bus import Token
from stagepost.client import Caller
from stagepost.records import Claimed, Resume, Scope
from stagepost.task import CancelRequest
from stagepost.web import create_app
from stagepost.web.sse import OpenText
from web.kit import API, Engine, Session, alive, engine_in, http, until
from web.sse_reader import Connection, reading

ALL = Scope(None)


@pytest.fixture
async def app(engine: Engine) -> AsyncIterator[Any]:
    made = create_app(engine.parts)
    async with alive(made):
        yield made


async def running(engine: Engine) -> Claimed:
    """A task that runs; its last event is `started`, number 2."""
    await engine.submit()
    return await engine.worker.claim()


async def ended(connection: Connection) -> None:
    await connection.until(lambda: connection.closed)


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


class TestTokens:
    async def test_they_come_without_a_number(self, engine: Engine, app: Any) -> None:
        task = await running(engine)
        async with reading(app, task.task_id) as stream:
            await stream.until(lambda: engine.notifier.watchers == 1)
            engine.bus.emit(task.task_id, Token("write", 1, 0, "Hello"))
            engine.bus.emit(task.task_id, Token("write", 1, 5, ", 世界"))
            await stream.until(lambda: len(stream.parsed.events) == 3)
            first, second = stream.parsed.events[1:]
            assert (first.id, first.event) == (None, "token")
            assert first.data.pop("timestamp").endswith("Z")
            assert first.data == {"step": "write", "attempt": 1, "offset": 0, "text": "Hello"}
            assert (second.data["offset"], second.data["text"]) == (5, ", 世界")

    async def test_a_late_reader_gets_the_open_steps_text_once(
        self, engine: Engine, app: Any
    ) -> None:
        task = await running(engine)
        engine.bus.emit(task.task_id, Token("write", 1, 0, "Hello"))
        async with reading(app, task.task_id) as stream:
            # This one is both kept and live for a reader that is just being taken in.
            engine.bus.emit(task.task_id, Token("write", 1, 5, " you"))
            await stream.until(lambda: _text(stream) == "Hello you")
            engine.bus.emit(task.task_id, Token("write", 1, 9, "!"))
            await stream.until(lambda: _text(stream) == "Hello you!")
            offsets = [event.data["offset"] for event in stream.parsed.events[1:]]
            assert offsets[0] == 0

    async def test_another_step_begins_anew(self, engine: Engine, app: Any) -> None:
        task = await running(engine)
        engine.bus.emit(task.task_id, Token("a", 1, 0, "long text"))
        async with reading(app, task.task_id) as stream:
            await stream.until(lambda: len(stream.parsed.events) == 2)
            engine.bus.emit(task.task_id, Token("b", 1, 0, "x"))
            engine.bus.emit(task.task_id, Token("b", 2, 0, "y"))
            await stream.until(lambda: len(stream.parsed.events) == 4)
            assert [event.data["text"] for event in stream.parsed.events[2:]] == ["x", "y"]

    def test_what_was_kept_and_what_comes_live_overlap(self) -> None:
        text = OpenText()
        pieces = [(0, "Hello"), (0, "Hello"), (3, "lo yo"), (8, "u"), (2, "llo"), (9, ""), (9, "!")]
        shown = [text.unseen(Token("write", 1, *piece)) for piece in pieces]

        assert [(piece.offset, piece.text) for piece in shown if piece is not None] == [
            (0, "Hello"), (5, " yo"), (8, "u"), (9, "!"),
        ]  # fmt: skip

    @given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10)), max_size=20))
    def test_a_character_goes_out_once(self, cuts: list[tuple[int, int]]) -> None:
        whole = "abcdefghijklmnopqrstuvwxyz0123456789+-*/"
        text, had = OpenText(), ""
        for start, length in cuts:
            piece = text.unseen(Token("write", 1, start, whole[start : start + length]))
            if piece is not None:
                assert piece.text == whole[piece.offset : piece.offset + len(piece.text)]
                assert not set(piece.text) & set(had)
                had += piece.text


def _text(stream: Connection) -> str:
    return "".join(event.data["text"] for event in stream.parsed.events[1:])


class TestEnds:
    async def test_a_quiet_stream_is_kept_awake(
        self, engine: Engine, app: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("stagepost.web.stream.QUIET", 0.02)
        task = await running(engine)
        async with reading(app, task.task_id) as stream:
            await stream.until(lambda: stream.parsed.comments >= 3)
        assert stream.parsed.names == ["status"]

    async def test_a_client_that_goes_frees_everything(self, engine: Engine, app: Any) -> None:
        task = await running(engine)
        before = asyncio.all_tasks()
        for _ in range(5):
            async with reading(app, task.task_id) as stream:
                await stream.until(lambda: engine.notifier.watchers == 1)
            assert engine.notifier.watchers == 0
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == before

    async def test_a_client_that_goes_at_once(self, engine: Engine, app: Any) -> None:
        task = await running(engine)
        async with reading(app, task.task_id):
            pass
        assert engine.notifier.watchers == 0

    async def test_a_reader_that_takes_nothing_is_cut(
        self, engine: Engine, app: Any, monkeypatch: pytest.MonkeyPatch
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

    async def test_a_reader_that_is_too_slow_is_cut_and_resumes(
        self, engine: Engine, app: Any
    ) -> None:
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

    async def test_a_draining_process_ends_its_streams_politely(
        self, engine: Engine, app: Any
    ) -> None:
        task = await running(engine)
        async with reading(app, task.task_id) as stream:
            await stream.until(lambda: engine.notifier.watchers == 1)
            engine.parts.draining.set()
            await ended(stream)
            assert stream.parsed.names == ["status"]
        async with reading(app, task.task_id) as late:
            await ended(late)
            assert late.status == 503

    async def test_the_streams_of_a_revoked_key_end(self, tmp_path: Path) -> None:
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
        self, engine: Engine, app: Any, monkeypatch: pytest.MonkeyPatch
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


MOVES = st.lists(st.sampled_from(["progress", "step", "fail", "bury", "park"]), max_size=12)
CUTS = st.lists(st.integers(0, 6), min_size=1, max_size=8)


def test_no_reader_misses_an_event_or_sees_one_twice(session: Session) -> None:
    """Random histories, and readers that are cut after so many events and come back."""

    @settings(max_examples=150, deadline=None)
    @given(MOVES, CUTS, st.sampled_from(["complete", "bury", "cancel"]))
    def holds(moves: list[str], cuts: list[int], end: str) -> None:
        session.run(_relay(session, moves, cuts, end))

    holds()


async def _relay(session: Session, moves: list[str], cuts: list[int], end: str) -> None:
    engine = session.engine
    task_id = (await engine.submit()).task_id
    living = asyncio.create_task(_live(engine, task_id, moves, end))
    seen = await _read_in_turns(session.app, task_id, cuts, living)
    await living
    history = await engine.store.events(task_id, 0, 1000)
    assert seen == [event.seq for event in history]


async def _live(engine: Engine, task_id: str, moves: list[str], end: str) -> None:
    task = await engine.worker.claim()
    for number, move in enumerate(moves):
        if move == "progress":
            await engine.worker.progress(task, number * 5)
        elif move == "step":
            await engine.worker.step(task, str(number))
        else:
            task = await _again(engine, task, move)
        await asyncio.sleep(0)
    if end == "cancel":
        await engine.store.cancel(task_id, ALL, CancelRequest("ann"))
        await engine.worker.obey(task)
    else:
        await getattr(engine.worker, end)(task)


async def _again(engine: Engine, task: Claimed, move: str) -> Claimed:
    """Lose the task in one of the ways after which it comes back, and claim it again."""
    from stagepost.outcome import Drained  # noqa: PLC0415

    last_try = task.attempt >= task.max_attempts
    if move == "bury" or (move == "fail" and last_try):
        await engine.worker.bury(task)
        await engine.store.redrive(task.task_id, ALL, "ann", Resume(), 4)
    elif move == "fail":
        await engine.worker.fail(task, delay=0.0)
        await engine.store.release_due(10)
    else:
        await engine.worker.settle(task, Drained())
    return await engine.worker.claim()


async def _read_in_turns(
    app: Any, task_id: str, cuts: list[int], living: "asyncio.Task[None]"
) -> list[int]:
    seen: list[int] = []
    last = "0"
    for turn in range(500):
        count = cuts[turn] if turn < len(cuts) else 1000
        # A dead letter that is about to be sent back has, for a moment, nothing behind it.
        over = living.done()
        async with reading(app, task_id, last=last) as stream:
            if stream.status == 204 and over:
                return seen
            await stream.until(
                lambda stream=stream, count=count: (  # type: ignore[misc]
                    stream.closed or len(stream.parsed.seqs) >= count
                )
            )
        # The client has whatever reached it before it went, which may be more than it asked for.
        seen += stream.parsed.seqs
        last = str(seen[-1]) if seen else "0"
        await asyncio.sleep(0.001)
    raise AssertionError("the stream never ends")
