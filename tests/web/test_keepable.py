"""What not every store can keep is refused, on each store alike, wherever it can stand."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx
import pytest

from support.postgres import Server
from support.world import new_id
from web.test_batches import served

TEXTS = ("\0", "a\0b")
PLACES = ("0-9999999999999", "9999999999999-0", "0-2147483648", "1-2147483647")


class Case(NamedTuple):
    """One request; `{task_id}` in its path is a task that is there."""

    method: str
    path: str
    body: Any = None


def cases_of(document: Any) -> Iterator[Case]:
    """A bad text in each parameter, and in each text of each body, of every route."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            for text in TEXTS:
                for parameter in operation.get("parameters", ()):
                    yield from _in_parameter(method, path, parameter, text)
                content = operation.get("requestBody", {}).get("content", {})
                schema = content.get("application/json", {}).get("schema")
                for body in _spoilt(schema, text) if schema else ():
                    yield Case(method, path, body)


def _in_parameter(method: str, path: str, parameter: Any, text: str) -> Iterator[Case]:
    name = parameter["name"]
    if parameter["in"] == "query":
        yield Case(method, f"{path}?{name}={quote(text)}")
    elif parameter["in"] == "path":
        yield Case(method, path.replace(f"{{{name}}}", quote(text)))


def _choices(schema: Any) -> Iterator[Any]:
    yield schema
    for word in ("anyOf", "oneOf"):
        yield from schema.get(word, ())


def _spoilt(schema: Any, text: str) -> Iterator[Any]:
    """Values of the schema with the text in one place each."""
    for choice in _choices(schema):
        if choice.get("type") == "string":
            yield text
        elif choice.get("type") == "array":
            yield from ([spoilt] for spoilt in _spoilt(choice.get("items", {}), text))
        elif choice.get("type") == "object":
            properties = choice.get("properties", {})
            rest = {name: _plain(properties[name]) for name in choice.get("required", ())}
            for name, part in properties.items():
                yield from ({**rest, name: spoilt} for spoilt in _spoilt(part, text))
    if not schema:
        yield {"text": text}
        yield text


def _plain(schema: Any) -> Any:
    for choice in _choices(schema):
        kind = choice.get("type")
        if "enum" in choice:
            return choice["enum"][0]
        if kind == "object":
            required = choice.get("required", ())
            return {name: _plain(choice["properties"][name]) for name in required}
        if kind == "array":
            return [_plain(choice.get("items", {}))]
        if kind in {"integer", "number"}:
            return choice.get("minimum", 1)
        if kind == "string":
            return "2026-01-01T00:00:00Z" if choice.get("format") == "date-time" else "double"
    return {"n": 1}


@asynccontextmanager
async def asked(folder: Path, **changes: Any) -> AsyncIterator[tuple[httpx.AsyncClient, str]]:
    """A client, and the id of a batch that is there."""
    async with served(folder, **changes) as (engine, client):
        body = {"type": "double", "inputs": [{"n": 1}]}
        task_id = (await client.post("/api/v1/batches", json=body)).json()["taskId"]
        await engine.client.wait(task_id, timeout=30)
        yield client, task_id


async def answers(client: httpx.AsyncClient, task_id: str) -> dict[str, int]:
    """The status of each case's answer."""
    cases = list(cases_of((await client.get("/openapi.json")).json()))
    cases += [Case("get", f"/api/v1/batches/{{task_id}}?after={place}") for place in PLACES]
    found = {}
    for case in cases:
        path = case.path.replace("{task_id}", task_id).replace("{", "").replace("}", "")
        body = {} if case.body is None else {"json": case.body}
        response = await client.request(case.method, path, **body)
        found[f"{case.method} {case.path} {case.body!r}"] = response.status_code
    return found


async def test_a_text_that_no_store_keeps_is_no_fault_of_the_server(
    tmp_path: Path, postgres_server: Server
) -> None:
    found = []
    schema = postgres_server.url_of(f"keepable_{new_id()[-12:]}")
    for number, store in enumerate(("", schema)):
        async with asked(tmp_path / str(number), store=store) as (client, task_id):
            found.append(await answers(client, task_id))
    embedded, shared = found
    assert len(shared) > 150
    assert {case: status for case, status in shared.items() if status >= 500} == {}
    assert {case: (status, embedded[case]) for case, status in shared.items()} == {
        case: (status, status) for case, status in embedded.items()
    }


NOT_KEPT = [
    ("GET", "/api/v1/tasks?tag=a%00b", None, {"parameter": "tag"}),
    ("GET", "/api/v1/quotas?after=%00", None, {"parameter": "after"}),
    ("POST", "/api/v1/tasks/cancel", {"filter": {"user": "\0"}}, {"pointer": "#/filter/user"}),
    ("POST", "/api/v1/keys", {"name": "\0", "roles": ["read"]}, {"pointer": "#/name"}),
    ("DELETE", "/api/v1/keys/%00", None, {}),
    ("DELETE", "/api/v1/limits/a%00b", None, {}),
]


@pytest.mark.parametrize(("method", "path", "body", "where"), NOT_KEPT)
async def test_it_is_said_where_it_stands(
    client: httpx.AsyncClient, method: str, path: str, body: Any, where: dict[str, str]
) -> None:
    response = await client.request(method, path, **({} if body is None else {"json": body}))

    assert response.status_code == 422, response.text
    [fault] = response.json()["errors"]
    assert "NUL" in fault.pop("detail")
    assert fault == where


async def test_an_input_is_any_json(client: httpx.AsyncClient) -> None:
    for path, body in [
        ("tasks/echo", {"text": "a\0b"}),
        ("schedules", {"name": "x", "type": "echo", "input": {"text": "\0"}, "everySeconds": 3600}),
    ]:
        response = await client.post(f"/api/v1/{path}", json=body)
        assert response.status_code in {201, 202}, response.text


@pytest.mark.parametrize("half", [rb"\ud800", b"\xed\xa0\x80"])
async def test_half_a_surrogate_pair_is_no_json(client: httpx.AsyncClient, half: bytes) -> None:
    response = await client.post(
        "/api/v1/tasks/cancel",
        content=b'{"filter": {"tag": "' + half + b'"}}',
        headers={"Content-Type": "application/json"},
    )
    assert response.status_code == 400
    in_query = await client.get("/api/v1/tasks?tag=%ED%A0%80")
    assert in_query.json()["items"] == []
