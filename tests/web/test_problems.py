"""Every refusal is a problem document, and every answer carries its headers."""

import asyncio
import re
from typing import Any

import httpx
import pytest

from stagepost.errors import (
    Conflict,
    QueueFull,
    StagepostError,
    StoreUnavailable,
    UnknownLane,
    Unwritable,
)
from stagepost.web.problems import Kind, pointer, problem_of
from stagepost.web.roles import ROLES
from web.kit import API, Engine, http, serving

REQUEST_ID = re.compile(r"[0-9a-f]{32}-[0-9a-f]{16}")


def concrete(path: str) -> str:
    return re.sub(r"\{[a-z_]+\}", "00000000-0000-7000-8000-000000000000", path)


@pytest.mark.parametrize("path", ["/nowhere", "/api/v1", "/api/v2/tasks", "/dashboard", "//"])
async def test_a_path_that_is_not_there(client: httpx.AsyncClient, path: str) -> None:
    response = await client.get(f"http://127.0.0.1:8080{path}")

    assert response.status_code == 404
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["type"] == "urn:stagepost:problem:not-found"


@pytest.mark.parametrize("method", ["PUT", "PATCH", "HEAD", "OPTIONS", "TRACE", "NONSENSE"])
async def test_a_method_that_a_path_does_not_take(client: httpx.AsyncClient, method: str) -> None:
    for target in {concrete(path.replace("{type}", "echo")) for _, path in ROLES}:
        # The last word of a path may also be read as the name of a thing.
        takes = {taken for taken, route in ROLES if reads_as(target, route)}
        if "/api/" not in target:
            takes.add("HEAD")
        if method in takes:
            continue
        response = await client.request(method, target)

        assert response.status_code == 405
        assert response.headers["content-type"] == "application/problem+json"
        shown = {route.strip() for route in response.headers["allow"].split(",")}
        assert shown == takes


def reads_as(path: str, template: str) -> bool:
    return bool(re.fullmatch(re.sub(r"\{[a-z_]+\}", "[^/]+", template), path))


@pytest.mark.parametrize(
    "path", ["/healthz", "/readyz", "/", "/docs", "/openapi.json", "/metrics", "/docs?x=1"]
)
async def test_head_is_get_without_its_body(client: httpx.AsyncClient, path: str) -> None:
    read = await client.get(path)
    asked = await client.head(path)

    assert asked.status_code == read.status_code
    assert read.content
    assert not asked.content
    names = ("content-type", "etag", "cache-control", "location")
    assert [asked.headers.get(name) for name in names] == [read.headers.get(name) for name in names]
    # What /metrics counts has grown by the request before.
    if path != "/metrics":
        assert asked.headers["content-length"] == read.headers["content-length"]


async def test_head_over_a_connection_that_goes_on(engine: Engine) -> None:
    async with serving(engine) as url, httpx.AsyncClient(base_url=url) as client:
        for path in ("/healthz", "/docs", "/healthz"):
            assert (await client.head(path)).status_code == 200
            assert int((await client.head(path)).headers["content-length"]) > 0
        refused = await client.head(f"{API}/tasks")
        assert (refused.status_code, refused.headers["allow"]) == (405, "GET")
        assert (await client.get("/healthz")).json() == {"status": "ok"}


async def test_no_route_ignores_a_parameter(client: httpx.AsyncClient) -> None:
    for method, path in ROLES:
        target = concrete(path.replace("{type}", "echo"))
        response = await client.request(method, f"{target}?nonsense=1")

        assert response.status_code == 400, response.text
        assert response.json()["type"] == "urn:stagepost:problem:unknown-parameter"
        assert "nonsense" in response.json()["detail"]


async def test_every_answer_has_its_headers(engine: Engine, client: httpx.AsyncClient) -> None:
    task_id = (await engine.submit()).task_id
    seen = set()
    for method, path in (
        ("GET", f"{API}/tasks/{task_id}"),
        ("POST", f"{API}/tasks/echo"),
        ("GET", "/nowhere"),
        ("PUT", f"{API}/tasks"),
        ("GET", "/docs"),
        ("GET", "/metrics"),
        ("GET", f"{API}/tasks?x=1"),
    ):
        headers = (await client.request(method, path)).headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert REQUEST_ID.fullmatch(headers["x-request-id"])
        seen.add(headers["x-request-id"])
    assert len(seen) == 7


@pytest.mark.parametrize("cause", [RuntimeError, Unwritable])
async def test_a_fault_of_ours_tells_nothing(
    engine: Engine,
    client: httpx.AsyncClient,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    cause: type[Exception],
) -> None:
    async def find(*_: Any) -> Any:
        raise cause("the password is hunter2")

    monkeypatch.setattr(engine.store, "find", find)
    response = await client.get(f"{API}/tasks")

    assert response.status_code == 500
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["type"] == "urn:stagepost:problem:internal"
    assert "hunter2" not in response.text
    request_id = response.headers["x-request-id"]
    [record] = [record for record in caplog.records if request_id in record.getMessage()]
    assert record.exc_info is not None
    assert "hunter2" in str(record.exc_info[1])


async def test_a_fault_in_a_route_written_by_hand(
    engine: Engine, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def submit(*_: Any, **__: Any) -> Any:
        raise RuntimeError("secret")

    monkeypatch.setattr(engine.client, "submit", submit)
    response = await client.post(f"{API}/tasks/echo", json={})

    assert response.status_code == 500
    assert response.json()["type"] == "urn:stagepost:problem:internal"
    assert "secret" not in response.text


@pytest.mark.parametrize("error", [QueueFull("Full."), StoreUnavailable("Away.")])
async def test_a_store_that_can_not_now(
    engine: Engine,
    client: httpx.AsyncClient,
    monkeypatch: pytest.MonkeyPatch,
    error: StagepostError,
) -> None:
    async def refuse(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(engine.client, "submit", refuse)
    monkeypatch.setattr(engine.store, "find", refuse)
    for response in (
        await client.post(f"{API}/tasks/echo", json={}),
        await client.get(f"{API}/tasks"),
    ):
        assert response.status_code == 503
        assert response.json()["type"] == "urn:stagepost:problem:unavailable"
        assert int(response.headers["retry-after"]) > 0


async def test_a_client_that_goes_away_is_no_fault(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    from stagepost.web import create_app  # noqa: PLC0415

    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": f"{API}/tasks/echo",
        "raw_path": b"",
        "root_path": "",
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
    }
    await create_app(engine.parts)(scope, receive, send)

    assert sent == []
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_the_kinds_are_those_of_the_contract() -> None:
    kinds = {(kind.urn.rpartition(":")[2], kind.status) for kind in Kind}

    assert kinds >= {
        ("bad-request", 400),
        ("unknown-parameter", 400),
        ("unauthorized", 401),
        ("forbidden", 403),
        ("not-found", 404),
        ("conflict", 409),
        ("too-large", 413),
        ("unsupported-media-type", 415),
        ("validation", 422),
        ("idempotency-mismatch", 422),
        ("too-many", 429),
        ("internal", 500),
        ("unavailable", 503),
    }


def test_errors_become_problems_by_their_axis() -> None:
    assert problem_of(Conflict("x")).kind is Kind.CONFLICT
    assert problem_of(UnknownLane("x")).kind is Kind.VALIDATION
    assert problem_of(ValueError("x")).kind is Kind.INTERNAL


def test_a_pointer_escapes_what_it_must() -> None:
    assert pointer(["a/b", 0, "c~d"]) == "#/a~1b/0/c~0d"
    assert pointer([]) == "#"


async def test_many_at_once_get_their_own_ids(engine: Engine) -> None:
    async with http(engine) as client:
        answers = await asyncio.gather(*(client.get("/healthz") for _ in range(50)))
    assert len({answer.headers["x-request-id"] for answer in answers}) == 50
