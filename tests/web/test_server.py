"""Over a real connection: uvicorn held to its limits, and streams that come and go."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from httpx_sse import aconnect_sse

from stagepost.web import server
from web.kit import API, Engine, serving, until

ECHO = f"{API}/tasks/echo"


@pytest.fixture
async def base(engine: Engine) -> AsyncIterator[str]:
    async with serving(engine) as address:
        yield address


@contextlib.asynccontextmanager
async def connected(base: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A bare connection."""
    host, _, port = base.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def rest(reader: asyncio.StreamReader) -> bytes:
    """All that comes until the server closes; what it says before a reset counts too."""
    said = b""
    async with asyncio.timeout(30):
        with contextlib.suppress(ConnectionError):
            while piece := await reader.read(65536):
                said += piece
    return said


def head(*lines: str, method: str = "GET", path: str = "/healthz") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *lines, "", ""]).encode()


class TestHeads:
    async def test_headers_that_are_too_large_at_once(self, base: str) -> None:
        async with connected(base) as (reader, writer):
            writer.write(head(*[f"X-{number}: {'x' * 1000}" for number in range(60)]))
            answer = await rest(reader)
        assert answer.startswith(b"HTTP/1.1 431 ")
        assert b"application/problem+json" in answer
        assert b"urn:stagepost:problem:headers-too-large" in answer

    async def test_a_header_that_does_not_end(self, base: str) -> None:
        async with connected(base) as (reader, writer):
            writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Bomb: ")
            with contextlib.suppress(ConnectionError):
                for _ in range(64):
                    writer.write(b"x" * 4096)
                    await writer.drain()
                    await asyncio.sleep(0)
            answer = await rest(reader)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 431 ")

    async def test_a_request_line_that_does_not_end(self, base: str) -> None:
        async with connected(base) as (reader, writer):
            for _ in range(20):
                writer.write(b"GET /" + b"x" * 2000)
                await asyncio.sleep(0.001)
            assert (await rest(reader))[:13] in {b"HTTP/1.1 431 ", b"HTTP/1.1 400 ", b""}

    async def test_a_small_head_with_a_large_body_is_fine(self, base: str) -> None:
        body = b'{"text":"' + b"x" * 200_000 + b'"}'
        async with httpx.AsyncClient(base_url=base) as client:
            response = await client.post(
                ECHO, content=body, headers={"content-type": "application/json"}
            )
        assert response.status_code == 202

    @pytest.mark.parametrize(
        "nonsense",
        [
            b"nonsense\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            b"GET / HTTP/9.9\r\n\r\n",
            b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
            head("Content-Length: -5", method="POST"),
            head("Content-Length: 5", "Transfer-Encoding: chunked", method="POST"),
            head("Transfer-Encoding: chunked", method="POST") + b"zz\r\n",
        ],
    )
    async def test_what_is_no_request_is_refused(self, base: str, nonsense: bytes) -> None:
        async with connected(base) as (reader, writer):
            writer.write(nonsense)
            answer = await rest(reader)
        first, _, body = answer.partition(b"\r\n\r\n")
        assert first.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 403 ")), answer
        assert b"application/problem+json" in first
        assert b"urn:stagepost:problem:" in body

    async def test_a_client_that_says_nothing_is_let_go(
        self, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(server, "HEAD_PATIENCE", 0.05)
        async with serving(engine) as base:
            for said in (b"", b"GET / HTT", head()[:-2], b"\r\n", b"\r\n\r\n"):
                async with connected(base) as (reader, writer):
                    writer.write(said)
                    assert await rest(reader) == b""
            for said in (b"GET", b"\r\n"):
                async with connected(base) as (reader, writer):
                    writer.write(head())
                    await reader.readuntil(b'{"status":"ok"}')
                    writer.write(said)
                    assert await rest(reader) == b""

    async def test_a_slow_but_honest_client_is_not(self, base: str) -> None:
        async with connected(base) as (reader, writer):
            for letter in head("Connection: close"):
                writer.write(bytes([letter]))
                await asyncio.sleep(0)
            assert (await rest(reader)).startswith(b"HTTP/1.1 200 ")

    async def test_requests_in_a_row_on_one_connection(self, base: str) -> None:
        async with connected(base) as (reader, writer):
            for _ in range(3):
                writer.write(head())
                answer = await reader.readuntil(b'{"status":"ok"}')
                assert answer.startswith(b"HTTP/1.1 200 ")
            writer.write(head() * 5 + head("Connection: close"))
            assert (await rest(reader)).count(b"HTTP/1.1 200 ") == 6


class TestConnections:
    async def test_one_too_many_is_turned_away(
        self, base: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(server, "most_connections", lambda: 2)
        async with connected(base) as (reader, writer), connected(base):
            async with connected(base) as (third, _):
                answer = await rest(third)
            assert answer.startswith(b"HTTP/1.1 503 ")
            assert b"retry-after: 2" in answer
            assert b"urn:stagepost:problem:unavailable" in answer
            writer.write(head("Connection: close"))
            assert (await rest(reader)).startswith(b"HTTP/1.1 200 ")
        async with httpx.AsyncClient(base_url=base) as client:
            assert (await client.get("/healthz")).status_code == 200

    @pytest.mark.parametrize(("files", "most"), [(20_000, 14_968), (256, 160), (16, 8)])
    def test_descriptors_are_kept_back(
        self, monkeypatch: pytest.MonkeyPatch, files: int, most: int
    ) -> None:
        monkeypatch.setattr("resource.getrlimit", lambda _: (files, files))
        assert server.most_connections() == most


class TestRefusedBodies:
    async def test_the_answer_comes_while_the_body_is_still_sent(self, base: str) -> None:
        async def body() -> AsyncIterator[bytes]:
            for _ in range(4 * 16):
                yield b"x" * 65536

        async with httpx.AsyncClient(base_url=base, timeout=60) as client:
            response = await client.post(
                ECHO, content=body(), headers={"content-type": "application/json"}
            )
            assert response.status_code == 413
            assert (await client.get("/healthz")).status_code == 200

    async def test_a_body_without_an_end_is_cut(
        self, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(server, "LEFTOVER_MOST", 256 * 1024)
        async with serving(engine) as base, connected(base) as (_, writer):
            writer.write(
                head("Transfer-Encoding: chunked", method="POST", path=f"{API}/tasks/nothing")
            )
            with pytest.raises(ConnectionError):
                await _flood(writer)


async def _flood(writer: asyncio.StreamWriter) -> None:
    for _ in range(10_000):
        writer.write(b"10000\r\n" + b"x" * 65536 + b"\r\n")
        await writer.drain()


class TestStreams:
    async def test_a_client_that_closes_frees_everything(self, engine: Engine, base: str) -> None:
        task_id = (await engine.submit()).task_id
        for _ in range(3):
            async with connected(base) as (reader, writer):
                writer.write(head(path=f"{API}/tasks/{task_id}/progress"))
                await reader.readuntil(b"event: status")
                await until(lambda: engine.notifier.watchers == 1)
            await until(lambda: engine.notifier.watchers == 0)
        names = {task.get_name() for task in asyncio.all_tasks()}
        assert "client of a stream" not in names

    async def test_a_browser_follows_a_task_to_its_end(self, engine: Engine, base: str) -> None:
        task_id = (await engine.submit()).task_id
        seen: list[tuple[str, str]] = []

        async def work() -> None:
            await until(lambda: engine.notifier.watchers == 1)
            task = await engine.worker.claim()
            for percent in range(0, 100, 10):
                await engine.worker.progress(task, percent, "甲\n乙")
            await engine.worker.complete(task, {"text": "第一行\n第二行"})

        working = asyncio.create_task(work())
        async with (
            httpx.AsyncClient(base_url=base, timeout=30) as client,
            aconnect_sse(client, "GET", f"{API}/tasks/{task_id}/progress") as source,
        ):
            async for event in source.aiter_sse():
                seen.append((event.event, event.id))
                last = event.json()
        await working
        assert [name for name, _ in seen] == ["status", "started", *["progress"] * 10, "completed"]
        assert [int(number) for _, number in seen] == list(range(1, 14))
        assert last["result"] == {"text": "第一行\n第二行"}

    async def test_a_reader_that_is_stuck_is_cut_off(
        self, engine: Engine, base: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("stagepost.web.stream.STALL", 0.2)
        task_id = (await engine.submit()).task_id
        task = await engine.worker.claim()
        with socket.socket() as stuck:
            stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            host, _, port = base.removeprefix("http://").partition(":")
            await asyncio.get_running_loop().run_in_executor(None, stuck.connect, (host, int(port)))
            stuck.sendall(head(path=f"{API}/tasks/{task_id}/progress"))
            await until(lambda: engine.notifier.watchers == 1)
            for number in range(400):
                await engine.worker.progress(task, number // 5, "x" * 20_000)
                if engine.notifier.watchers == 0:
                    break
            await until(lambda: engine.notifier.watchers == 0)
            # Its connection is gone for good, not waiting to be read.
            async with httpx.AsyncClient(base_url=base) as client:
                text = (await client.get("/metrics")).text
            assert "stagepost_streams_cut_total 1.0" in text
            assert "stagepost_streams 0.0" in text
            stuck.settimeout(30)
            with contextlib.suppress(ConnectionError):
                while await asyncio.to_thread(stuck.recv, 65536):
                    pass

    async def test_nobody_complains_about_it(
        self, engine: Engine, base: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        task_id = (await engine.submit()).task_id
        async with connected(base) as (reader, writer):
            writer.write(head(path=f"{API}/tasks/{task_id}/progress"))
            await reader.readuntil(b"event: status")
        await until(lambda: engine.notifier.watchers == 0)
        assert [record for record in caplog.records if record.levelname == "ERROR"] == []

    async def test_a_client_that_closes_with_a_request_behind_it(
        self, engine: Engine, base: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        task_id = (await engine.submit()).task_id
        async with connected(base) as (reader, writer):
            writer.write(head(path=f"{API}/tasks/{task_id}/progress") + head())
            await reader.readuntil(b"event: status")
            await until(lambda: engine.notifier.watchers == 1)
        await until(lambda: engine.notifier.watchers == 0)
        assert [record for record in caplog.records if record.levelname == "ERROR"] == []

    async def test_a_server_that_stops_ends_them_first(self, engine: Engine) -> None:
        task_id = (await engine.submit()).task_id
        async with contextlib.AsyncExitStack() as stack:
            base = await stack.enter_async_context(serving(engine))
            reader, writer = await stack.enter_async_context(connected(base))
            writer.write(head(path=f"{API}/tasks/{task_id}/progress"))
            await reader.readuntil(b"event: status")
            stopping = asyncio.create_task(_stop(engine, base))
            # The chunk that ends a chunked body: a clean end, after which a browser comes back.
            async with asyncio.timeout(30):
                await reader.readuntil(b"\r\n0\r\n\r\n")
            await stopping


async def _stop(engine: Engine, base: str) -> None:
    engine.parts.draining.set()
    async with httpx.AsyncClient(base_url=base) as client:
        ready = await client.get("/readyz")
    assert ready.status_code == 503


async def test_the_local_mode_can_not_be_served_to_others(engine: Engine) -> None:
    def config(**changes: Any) -> Any:
        return server.server_config(object(), engine.settings.with_(**changes))

    with pytest.raises(ValueError, match="STAGEPOST_AUTH=keys"):
        config(host="0.0.0.0")
    assert config(host="0.0.0.0", auth=("keys",)).host == "0.0.0.0"
    assert config().http is server.Protocol
