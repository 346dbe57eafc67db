"""The OpenAPI document: complete, and true of the running API."""

import asyncio
import html
import json
import re
import shlex
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import positive_data_acceptance

from stagepost.web.options import NAMES
from stagepost.web.roles import ROLES
from web.kit import API, Engine, engine_in, http, serving

STREAM = f"{API}/tasks/{{task_id}}/progress"


async def document(client: httpx.AsyncClient) -> Any:
    response = await client.get("/openapi.json")
    assert response.headers["content-type"] == "application/json"
    return response.json()


class TestDocument:
    async def test_it_has_every_route_and_every_type(self, client: httpx.AsyncClient) -> None:
        paths = (await document(client))["paths"]
        shown = {(method.upper(), path) for path, item in paths.items() for method in item}

        submits = {("POST", f"{API}/tasks/{name}") for name in ("echo", "review")}
        assert shown == (set(ROLES) - {("POST", f"{API}/tasks/{{type}}")}) | submits

    async def test_a_type_takes_its_input_as_json_and_as_a_form(
        self, client: httpx.AsyncClient
    ) -> None:
        whole = await document(client)
        content = whole["paths"][f"{API}/tasks/review"]["post"]["requestBody"]["content"]
        as_json = content["application/json"]["schema"]
        as_form = content["multipart/form-data"]["schema"]

        assert as_json["required"] == as_form["required"] == ["file"]
        assert as_json["properties"]["file"]["format"] == "uuid"
        assert as_form["properties"]["file"]["format"] == "binary"
        assert as_form["properties"]["more"]["items"]["format"] == "binary"

    async def test_its_parameters_are_those_that_submit_knows(
        self, client: httpx.AsyncClient
    ) -> None:
        parameters = (await document(client))["paths"][f"{API}/tasks/echo"]["post"]["parameters"]

        assert tuple(item["name"] for item in parameters if item["in"] == "query") == NAMES

    async def test_every_reference_leads_somewhere(self, client: httpx.AsyncClient) -> None:
        whole = await document(client)
        references = set(re.findall(r'"\$ref": ?"#/components/schemas/([^"]+)"', str_of(whole)))

        assert references
        assert references <= set(whole["components"]["schemas"])

    async def test_every_refusal_is_a_problem(self, client: httpx.AsyncClient) -> None:
        for path, item in (await document(client))["paths"].items():
            for operation in item.values():
                for status, answer in operation["responses"].items():
                    if int(status) >= 400 and (path, status) != ("/readyz", "503"):
                        assert list(answer["content"]) == ["application/problem+json"]

    async def test_keys_are_named_where_they_are_needed(self, keyed: Engine) -> None:
        async with http(keyed) as client:
            whole = await document(client)
        assert whole["security"] == [{"key": []}]
        assert whole["components"]["securitySchemes"]["key"]["scheme"] == "bearer"

    async def test_the_page_shows_it_all_without_scripts(self, client: httpx.AsyncClient) -> None:
        whole = await document(client)
        response = await client.get("/docs")

        assert response.headers["content-type"] == "text/html; charset=utf-8"
        assert "default-src 'none'" in response.headers["content-security-policy"]
        assert "<script" not in response.text
        assert "http://" not in response.text.replace("http://127.0.0.1", "")
        for path in whole["paths"]:
            assert path in response.text

    async def test_the_page_is_in_the_order_of_use_and_fits(
        self, client: httpx.AsyncClient
    ) -> None:
        text = (await client.get("/docs")).text

        paths = re.findall(r"<summary><b>\w+</b> <code>([^<]+)</code>", text)
        assert paths[:2] == [f"{API}/tasks/echo", f"{API}/tasks/review"]
        assert paths[-1] in {"/docs", "/openapi.json", "/", "/metrics", "/readyz"}
        # One row for all refusals of a kind, in their order, and no description twice.
        for section in re.split(r"<details>\n<summary><b>", text)[1:]:
            statuses = re.findall(r"<tr><td>(\d{3}(?:, \d{3})*)\s", section)
            single = [int(each) for row in statuses for each in row.split(", ")]
            assert single == sorted(set(single)), section
            assert section.count("Refused; the problem document says why.") <= 1
            summary = re.search(r"</code> ([^<]+)</summary>", section)
            if summary is not None:
                assert f"<p>{summary[1]}." not in section
        assert "&lt;" not in text
        assert "`" not in re.sub(r"<pre.*?</pre>", "", text, flags=re.DOTALL)

    async def test_its_references_are_links_that_lead_somewhere(
        self, client: httpx.AsyncClient
    ) -> None:
        text = (await client.get("/docs")).text

        links = set(re.findall(r'href="#([^"]+)"', text))
        assert links
        assert links <= set(re.findall(r'id="([^"]+)"', text))
        assert "#/components/schemas" not in text
        whole = re.search(r'<pre id="schema-TaskItem">(.*?)</pre>', text, re.DOTALL)
        assert whole is not None
        assert '<a href="#schema-WaitingFor">WaitingFor</a>' in whole[1]

    async def test_each_route_has_a_command_to_try_it_by(self, client: httpx.AsyncClient) -> None:
        text = html.unescape((await client.get("/docs")).text)

        assert f"-F file=@FILE http://127.0.0.1:8080{API}/tasks/review" in text
        echo = next(line for line in text.splitlines() if line.endswith("/tasks/echo</pre>"))
        words = shlex.split(echo.removeprefix("<pre>").removesuffix("</pre>"))
        body = json.loads(words[words.index("-d") + 1])
        assert (await client.post(f"{API}/tasks/echo", json=body)).status_code == 202


def str_of(whole: Any) -> str:
    return httpx.Request("POST", "http://x", json=whole).content.decode()


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The API on a port, in a thread with an event loop of its own."""
    started, ending = threading.Event(), threading.Event()
    found: list[str] = []

    async def serve(folder: Path) -> None:
        async with engine_in(folder) as engine, serving(engine) as address:
            task_id = (await engine.submit()).task_id
            await engine.worker.bury(await engine.worker.claim())
            found.extend([address, task_id])
            started.set()
            await asyncio.to_thread(ending.wait)

    folder = tmp_path_factory.mktemp("openapi")
    thread = threading.Thread(target=lambda: asyncio.run(serve(folder)), name="api")
    thread.start()
    assert started.wait(30)
    yield found[0]
    ending.set()
    thread.join(60)


# Some rules hold between fields and have no words in a schema: a deadline in the past, an id that
# names no upload, a page of counts.
BETWEEN_FIELDS = [positive_data_acceptance]


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_the_running_api_keeps_to_its_document(base: str, mode: GenerationMode) -> None:
    schema = schemathesis.openapi.from_url(f"{base}/openapi.json")
    tested = 0
    for found in schema.get_all_operations():
        assert isinstance(found, Ok), found.err()
        operation = found.ok()
        if operation.path == STREAM:
            # A stream does not end; test_stream.py has it.
            continue
        tested += _try(operation, mode)
    assert tested == 29 if mode is GenerationMode.POSITIVE else tested >= 10


def _try(operation: Any, mode: GenerationMode) -> int:
    cases = operation.as_strategy(generation_mode=mode)

    @settings(
        max_examples=12,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases)
    def holds(case: Any) -> None:
        if case.query and "wait" in case.query:
            case.query["wait"] = "0"
        case.call_and_validate(excluded_checks=BETWEEN_FIELDS, timeout=60)

    try:
        holds()
    except Unsatisfiable:
        # It takes nothing that could be wrong.
        assert mode is GenerationMode.NEGATIVE
        return 0
    return 1
