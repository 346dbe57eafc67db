"""What is too much is refused, before it costs much."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.settings import Limits
from stagepost.web.limits import check_depth, parse_json
from stagepost.web.problems import Problem
from web.kit import API, Engine, engine_in, http, serving, until

ECHO = f"{API}/tasks/echo"
REVIEW = f"{API}/tasks/review"
JSON = {"content-type": "application/json"}
MIB = 1024 * 1024


async def pieces(size: int, piece: int = 64 * 1024) -> AsyncIterator[bytes]:
    """So many bytes, without having them all at once."""
    for start in range(0, size, piece):
        yield b"x" * min(piece, size - start)


async def form(*parts: tuple[str, str, int]) -> AsyncIterator[bytes]:
    """A form of files as (field, name, bytes), made as it is sent."""
    for field, name, size in parts:
        head = f'--b\r\nContent-Disposition: form-data; name="{field}"; filename="{name}"\r\n\r\n'
        yield head.encode()
        async for piece in pieces(size):
            yield piece
        yield b"\r\n"
    yield b"--b--\r\n"


FORM = {"content-type": "multipart/form-data; boundary=b"}


def refused(response: httpx.Response, status: int, slug: str) -> None:
    assert response.status_code == status, response.text
    assert response.json()["type"] == f"urn:stagepost:problem:{slug}"


class TestDepth:
    @pytest.mark.parametrize("depth", [1, 63, 64])
    def test_up_to_the_limit(self, depth: int) -> None:
        for left, right in (("[", "]"), ('{"a":', "}")):
            text = left * depth + "1" + right * depth
            assert parse_json(text.encode(), 64) == orjson.loads(text)

    @pytest.mark.parametrize("depth", [65, 100, 900, 5_000, 500_000])
    def test_beyond_it(self, depth: int) -> None:
        for left, right in (("[", "]"), ('{"a":', "}")):
            with pytest.raises(Problem):
                parse_json((left * depth + "1" + right * depth).encode(), 64)

    def test_brackets_in_texts_are_no_depth(self) -> None:
        text = orjson.dumps({"a": "[{" * 1000})
        assert parse_json(text, 64) == {"a": "[{" * 1000}
        wide = orjson.dumps([[[]] * 5_000, {"b": [1]}])
        assert parse_json(wide, 3) == orjson.loads(wide)

    @given(
        st.recursive(
            st.integers(-5, 5),
            lambda inner: (
                st.lists(inner, max_size=4)
                | st.dictionaries(st.text(max_size=2), inner, max_size=3)
            ),
            max_leaves=40,
        )
    )
    def test_it_is_the_depth_that_counts(self, value: Any) -> None:
        depth = _depth(value)
        body = orjson.dumps(value)
        check_depth(body, value, depth)
        if depth:
            with pytest.raises(Problem):
                check_depth(body, value, depth - 1)


def _depth(value: Any) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return 1 + max(map(_depth, value), default=0)
    return 0


class TestJson:
    async def test_a_body_at_the_limit_passes_and_one_byte_more_does_not(
        self, client: httpx.AsyncClient
    ) -> None:
        limit = Limits().json_bytes
        room = limit - len(b'{"text":""}')
        # An input of 1 MiB grows by its other fields when it is kept, so look only at the first.
        for size, status in ((room - 100, 202), (room + 1, 413)):
            body = b'{"text":"' + b"x" * size + b'"}'
            response = await client.post(ECHO, content=body, headers=JSON)
            assert response.status_code == status, response.text

    async def test_two_mebibytes(self, client: httpx.AsyncClient) -> None:
        body = orjson.dumps({"text": "x" * 2 * MIB})
        response = await client.post(ECHO, content=body, headers=JSON)

        refused(response, 413, "too-large")
        assert "1 MiB" in response.json()["detail"]

    async def test_two_mebibytes_that_are_not_announced(self, client: httpx.AsyncClient) -> None:
        sent = pieces(2 * MIB)

        refused(await client.post(ECHO, content=sent, headers=JSON), 413, "too-large")

    async def test_a_depth_bomb(self, client: httpx.AsyncClient) -> None:
        body = b'{"nested": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}"
        response = await client.post(ECHO, content=body, headers=JSON)

        refused(response, 400, "bad-request")
        assert response.json()["detail"] == "The JSON is nested deeper than 64 levels."

    @pytest.mark.parametrize("path", [f"{API}/keys", f"{API}/dead-letters/redrive"])
    async def test_other_routes_have_the_same_limits(
        self, client: httpx.AsyncClient, path: str
    ) -> None:
        large = await client.post(path, content=b" " * 2 * MIB, headers=JSON)
        deep = await client.post(path, content=b"[" * 70 + b"]" * 70, headers=JSON)
        other = await client.post(path, content=b"<a/>", headers={"content-type": "text/xml"})

        refused(large, 413, "too-large")
        refused(deep, 400, "bad-request")
        refused(other, 415, "unsupported-media-type")

    async def test_a_body_that_does_not_go_on(
        self, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("stagepost.web.limits.SLOWEST", 0.05)
        async with serving(engine) as base:
            host = base.removeprefix("http://")
            reader, writer = await asyncio.open_connection(*host.split(":"))
            writer.write(
                f"POST {ECHO} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
                "Content-Length: 100\r\n\r\n{".encode()
            )
            async with asyncio.timeout(30):
                answer = await reader.read()
            writer.close()
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"connection: close" in answer.lower()
        assert b"urn:stagepost:problem:bad-request" in answer


class TestFiles:
    async def test_twenty_files_and_no_more(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        for number, status in ((20, 202), (21, 413)):
            parts = [("file", "a.txt", 3)]
            parts += [("more", f"{n}.txt", 3) for n in range(number - 1)]
            response = await client.post(REVIEW, content=form(*parts), headers=FORM)
            assert response.status_code == status, response.text
        refused(response, 413, "too-large")
        assert len((await client.get(f"{API}/tasks")).json()["items"]) == 1

    async def test_a_file_over_its_limit(self, client: httpx.AsyncClient) -> None:
        sent = form(("file", "a.bin", 101 * MIB))
        response = await client.post(REVIEW, content=sent, headers=FORM, timeout=120)

        refused(response, 413, "too-large")
        assert "100 MiB" in response.json()["detail"]
        assert (await client.get(f"{API}/tasks")).json()["items"] == []

    async def test_all_files_over_their_limit(self, tmp_path: Path) -> None:
        limits = {"multipart_bytes": 3 * MIB, "file_bytes": MIB}
        async with engine_in(tmp_path, limits=limits) as engine, http(engine) as client:
            parts = [("file", "a.bin", MIB), *[("more", "b.bin", MIB)] * 2]
            response = await client.post(REVIEW, content=form(*parts), headers=FORM)
            refused(response, 413, "too-large")

    async def test_what_is_announced_too_large_is_not_read(self, client: httpx.AsyncClient) -> None:
        read = False

        async def body() -> AsyncIterator[bytes]:
            nonlocal read
            read = True
            yield b"x"

        headers = {**FORM, "content-length": str(300 * MIB)}
        response = await client.post(REVIEW, content=body(), headers=headers)

        refused(response, 413, "too-large")
        assert not read

    async def test_an_upload_over_its_limit(self, tmp_path: Path) -> None:
        async with (
            engine_in(tmp_path, limits={"file_bytes": 1000}) as engine,
            http(engine) as client,
        ):
            for size, status in ((1000, 201), (1001, 413)):
                sent = form(("file", "a.bin", size))
                response = await client.post(f"{API}/uploads", content=sent, headers=FORM)
                assert response.status_code == status

    async def test_too_much_text_in_a_form(self, client: httpx.AsyncClient) -> None:
        field = 'Content-Disposition: form-data; name="{}"\r\n\r\n'

        def fields(count: int, size: int) -> bytes:
            parts = [
                f"--b\r\n{field.format(number)}{'x' * size}\r\n".encode() for number in range(count)
            ]
            return b"".join(parts) + b"--b--\r\n"

        for body in (fields(101, 1), fields(3, MIB // 2)):
            refused(await client.post(REVIEW, content=body, headers=FORM), 413, "too-large")


class TestStreams:
    @pytest.mark.parametrize("limit", ["streams", "streams_a_tenant", "streams_a_task"])
    async def test_so_many_and_no_more(self, tmp_path: Path, limit: str) -> None:
        async with engine_in(tmp_path, limits={limit: 2}) as engine, serving(engine) as base:
            task_id = (await engine.submit()).task_id
            path = f"{base}{API}/tasks/{task_id}/progress"
            async with httpx.AsyncClient(timeout=30) as client:
                async with client.stream("GET", path), client.stream("GET", path):
                    third = await client.get(path)
                    refused(third, 429, "too-many")
                    assert int(third.headers["retry-after"]) > 0
                await until(lambda: engine.notifier.watchers == 0)
                async with client.stream("GET", path) as fourth:
                    assert fourth.status_code == 200
