"""Batches over HTTP: all inputs validated first, then started, waited for and read in pages."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from engine_kit.engine import finished, running
from engine_kit.families import app as families
from stagepost import App
from stagepost.task import Status
from stagepost.tasks.batch import app as batch_app
from stagepost.web import Parts, create_app
from stagepost.wiring import Engine
from web.kit import API, BASE, alive

LINES = {"Content-Type": "application/x-ndjson"}


def the_app() -> App:
    app = App()
    app.include(families)
    app.include(batch_app)
    return app


@asynccontextmanager
async def served(folder: Path, **changes: Any) -> AsyncIterator[tuple[Engine, httpx.AsyncClient]]:
    """A whole engine and a client of its API."""
    async with running(the_app(), folder, **changes) as engine:
        parts = Parts(
            settings=engine.settings, app=engine.app, client=engine.client, store=engine.store,
            notifier=engine.notifier, bus=engine.bus, limiting=engine.limiting, blobs=engine.blobs,
            clock=engine.clock,
        )  # fmt: skip
        app = create_app(parts)
        transport = httpx.ASGITransport(app)
        async with alive(app), httpx.AsyncClient(transport=transport, base_url=BASE) as client:
            yield engine, client


def lines(numbers: list[int]) -> bytes:
    return b"".join(orjson.dumps({"n": n}) + b"\n" for n in numbers)


async def kept(engine: Engine) -> list[str]:
    """The files that are there."""
    found: list[str] = []
    after = ""
    for _ in range(300):
        keys, following = await engine.blobs.listed(after, older_than=-60.0)
        found += keys
        if following is None:
            return found
        after = following
    raise AssertionError("the files do not end")


async def all_items(client: httpx.AsyncClient, task_id: str, limit: int) -> list[Any]:
    items: list[Any] = []
    after: str | None = None
    for _ in range(200):
        query: dict[str, str | int] = {
            "limit": limit,
            **({} if after is None else {"after": after}),
        }
        body = (await client.get(f"{API}/batches/{task_id}", params=query)).json()
        items += body["items"]
        after = body["next"]
        if after is None:
            return items
    raise AssertionError("the pages do not end")


@pytest.mark.parametrize("as_lines", [False, True])
async def test_the_answer_estimates_as_that_of_any_task_does(
    tmp_path: Path, *, as_lines: bool
) -> None:
    async with served(tmp_path) as (_, client):
        if as_lines:
            url, body = f"{API}/batches?type=double", lines([1] * 300)
            response = await client.post(url, content=body, headers=LINES)
        else:
            whole = {"type": "double", "inputs": [{"n": 1}] * 300}
            response = await client.post(f"{API}/batches", json=whole)
        accepted = response.json()
        # What is told before there is history: 5 s for each 100 KiB of files, and 10.
        assert accepted["estimatedSeconds"] == 10


async def test_a_batch_in_json_runs_to_its_end(tmp_path: Path) -> None:
    async with served(tmp_path) as (engine, client):
        body = {"type": "double", "inputs": [{"n": 1}, {"n": -1}, {"n": 3}]}
        response = await client.post(f"{API}/batches", json=body)
        accepted = response.json()
        assert (response.status_code, accepted["type"], accepted["count"]) == (202, "batch", 3)
        assert response.headers["location"] == f"{API}/tasks/{accepted['taskId']}"
        view = await finished(engine, accepted["taskId"])
        assert view.task.status is Status.COMPLETED
        assert await engine.client.result(view) == {
            "type": "double", "count": 3, "completed": 2, "failed": 1,
        }  # fmt: skip
        assert view.task.step == "3 of 3", "the last thing that was told"
        found = (await client.get(f"{API}/batches/{accepted['taskId']}")).json()
        assert found["counts"] == {"COMPLETED": 2, "DEAD_LETTER": 1}
        assert [item["index"] for item in found["items"]] == [0, 1, 2]
        assert [item["result"] for item in found["items"]] == [2, None, 6]
        assert found["items"][1]["failureKind"] == "INVALID_INPUT"
        assert found["next"] is None


async def test_json_lines_of_several_pages(tmp_path: Path) -> None:
    async with served(tmp_path, concurrency=64) as (engine, client):
        numbers = list(range(1_200))
        response = await client.post(
            f"{API}/batches?type=double", content=lines(numbers), headers=LINES
        )
        assert response.json()["count"] == 1_200
        task_id = response.json()["taskId"]
        view = await finished(engine, task_id)
        assert (await engine.client.result(view))["completed"] == 1_200
        items = await all_items(client, task_id, 200)
        assert [item["result"] for item in items] == [2 * n for n in numbers]


async def test_stop_fails_with_the_first_that_fails(tmp_path: Path) -> None:
    async with served(tmp_path) as (engine, client):
        response = await client.post(
            f"{API}/batches?type=double&onFailure=stop", content=lines([1, -2, 3]), headers=LINES
        )
        task = (await finished(engine, response.json()["taskId"])).task
        assert (task.status, task.failure_kind) == (Status.DEAD_LETTER, "CHILD_FAILED")


REFUSED = [
    ({"json": {"type": "double", "inputs": []}}, 422, "#/inputs"),
    ({"json": {"type": "double", "inputs": [{"n": 1}, {"m": 1}]}}, 422, "#/inputs/1/n"),
    ({"json": {"type": "double"}}, 422, "#/inputs"),
    ({"json": {"type": "nowhere", "inputs": [1]}}, 404, None),
    ({"json": {"type": "double", "inputs": [{"n": 1}], "lane": "x"}}, 422, None),
    ({"content": b'{"n": 1}\n{"n": "x"}\n', "headers": LINES}, 422, "#/1/n"),
    ({"content": b"{\n", "headers": LINES}, 400, None),
    ({"content": b"\n\n", "headers": LINES}, 422, "#/inputs"),
    ({"content": b"n=1", "headers": {"Content-Type": "text/plain"}}, 415, None),
]


@pytest.mark.parametrize(("sent", "status", "where"), REFUSED)
async def test_what_is_wrong_is_named_and_nothing_is_accepted(
    tmp_path: Path, sent: dict[str, Any], status: int, where: str | None
) -> None:
    async with served(tmp_path) as (engine, client):
        query = "" if "json" in sent or "type=" in str(sent) else "?type=double"
        if status == 415:
            query = ""
        response = await client.post(f"{API}/batches{query}", **sent)
        assert response.status_code == status, response.text
        if where is not None:
            assert where in {fault["pointer"] for fault in response.json()["errors"]}
        assert (await client.get(f"{API}/tasks")).json()["items"] == []
        assert engine.worker is not None


async def test_lines_need_a_type_and_json_takes_no_options(tmp_path: Path) -> None:
    async with served(tmp_path) as (_, client):
        response = await client.post(f"{API}/batches", content=lines([1]), headers=LINES)
        assert response.status_code == 422
        body = {"type": "double", "inputs": [{"n": 1}]}
        response = await client.post(f"{API}/batches?type=double", json=body)
        assert response.status_code == 422
        response = await client.get(f"{API}/batches/00000000-0000-7000-8000-000000000009")
        assert response.status_code == 404


SIZES = [
    # Of 600 KiB no two go together, of 400 KiB two do, and small ones by the hundred.
    (600, 5, [1, 1, 1, 1, 1]),
    (400, 5, [2, 2, 1]),
    (0, 250, [100, 100, 50]),
]


@pytest.mark.parametrize(("kib", "many", "together"), SIZES)
async def test_large_lines_are_parsed_a_few_at_a_time(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kib: int,
    many: int,
    together: list[int],
) -> None:
    pieces: list[bytes] = []

    async with served(tmp_path) as (engine, client):
        put = engine.blobs.put

        async def seen(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
            async for chunk in chunks:
                pieces.append(chunk)
                yield chunk

        async def noted(key: str, chunks: AsyncIterator[bytes], *, limit: int) -> Any:
            return await put(key, seen(chunks), limit=limit)

        monkeypatch.setattr(engine.blobs, "put", noted)
        body = orjson.dumps({"n": 1, "log": "x" * (kib * 1024)}) + b"\n"
        response = await client.post(
            f"{API}/batches?type=double", content=body * many, headers=LINES
        )
        assert response.status_code == 202, response.text
        assert [piece.count(b"\n") for piece in pieces if piece] == together
        assert b"".join(pieces) == body * many


async def test_the_same_key_and_content_is_one_batch(tmp_path: Path) -> None:
    async with served(tmp_path) as (_, client):
        headers = {**LINES, "Idempotency-Key": "once"}
        path = f"{API}/batches?type=double"
        first = await client.post(path, content=lines([1, 2]), headers=headers)
        again = await client.post(path, content=lines([1, 2]), headers=headers)
        other = await client.post(path, content=lines([1, 3]), headers=headers)
        assert (first.status_code, again.status_code, other.status_code) == (202, 200, 422)
        assert first.json()["taskId"] == again.json()["taskId"]


async def test_a_page_goes_on_only_where_one_has_ended(tmp_path: Path) -> None:
    async with served(tmp_path) as (engine, client):
        body = {"type": "double", "inputs": [{"n": n} for n in range(5)]}
        task_id = (await client.post(f"{API}/batches", json=body)).json()["taskId"]
        await finished(engine, task_id)
        items = await all_items(client, task_id, 2)
        assert [item["index"] for item in items] == list(range(5))
        bad = await client.get(f"{API}/batches/{task_id}", params={"after": "x"})
        assert bad.status_code == 400


@pytest.mark.parametrize("as_lines", [False, True])
async def test_a_batch_that_its_tenant_has_no_room_for_starts_nothing(
    tmp_path: Path, *, as_lines: bool
) -> None:
    async with served(tmp_path, concurrency=8) as (engine, client):
        key = {"Idempotency-Key": "one batch"}

        async def post(many: int) -> httpx.Response:
            if as_lines:
                url, body = f"{API}/batches?type=double", lines([1] * many)
                return await client.post(url, content=body, headers=LINES | key)
            whole = {"type": "double", "inputs": [{"n": 1}] * many}
            return await client.post(f"{API}/batches", json=whole, headers=key)

        quotas = f"{API}/tenants/local/quotas"
        await client.put(quotas, json={"maxQueued": 3})
        later = await client.post(f"{API}/tasks/double?delaySeconds=3600", json={"n": 1})
        assert later.status_code == 202
        for many, told in ((4, "its tenant may have 3 tasks that wait"), (3, "has room for 2")):
            refused = await post(many)
            assert refused.status_code == 429
            assert refused.json()["type"] == "urn:stagepost:problem:too-many"
            assert f"The batch has {many} inputs" in refused.json()["detail"]
            assert told in refused.json()["detail"]
            assert int(refused.headers["retry-after"]) >= 1
        assert len((await client.get(f"{API}/tasks")).json()["items"]) == 1
        assert not await engine.store.retention.unreferenced(older_than=0.0, limit=10)
        assert await kept(engine) == []

        cancelled = await client.post(f"{API}/tasks/{later.json()['taskId']}/cancel")
        assert cancelled.status_code == 200
        accepted = await post(3)
        assert accepted.status_code == 202
        replayed = await post(3)
        assert (replayed.status_code, replayed.json()["taskId"]) == (
            200,
            accepted.json()["taskId"],
        )
        assert await kept(engine) != []
        view = await finished(engine, accepted.json()["taskId"])
        assert (await engine.client.result(view))["completed"] == 3
        assert (await client.get(quotas)).json()["waiting"] == 0
