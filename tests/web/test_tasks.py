"""Lists, one task from all sides, cancel."""

import asyncio
from typing import Any

import httpx
import pytest

from stagepost.caller import Caller
from stagepost.records import Scope
from web.kit import API, Engine, http

ACME = Caller("acme", "ann", Scope("acme"))


async def pages(client: httpx.AsyncClient, path: str, **query: Any) -> list[Any]:
    """All items of a list, page by page."""
    found: list[Any] = []
    after: str | None = None
    for _ in range(100):
        more = {} if after is None else {"after": after}
        response = await client.get(path, params={**query, **more})
        assert response.status_code == 200, response.text
        body = response.json()
        assert list(body) == ["items", "next"]
        found += body["items"]
        after = body["next"]
        if after is None:
            return found
    raise AssertionError("the pages do not end")


class TestList:
    async def test_newest_first_page_by_page(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        ids = [(await engine.submit()).task_id for _ in range(7)]

        for limit in (1, 2, 7, 200):
            items = await pages(client, f"{API}/tasks", limit=limit)
            assert [item["taskId"] for item in items] == ids[::-1]

    async def test_a_page_stands_still_while_tasks_come(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        ids = [(await engine.submit()).task_id for _ in range(4)]
        first = (await client.get(f"{API}/tasks", params={"limit": 2})).json()
        await engine.submit()
        rest = (await client.get(f"{API}/tasks", params={"after": first["next"]})).json()

        assert [item["taskId"] for item in first["items"] + rest["items"]] == ids[::-1]

    async def test_each_filter(self, engine: Engine, client: httpx.AsyncClient) -> None:
        done = (await engine.submit()).task_id
        await engine.worker.complete(await engine.worker.claim())
        await asyncio.sleep(0.01)
        slow = (await engine.submit(lane="batch", tags=("slow", "eu"))).task_id
        ann = (await engine.submit(caller=Caller("local", "ann", Scope("local")))).task_id
        middle = (await client.get(f"{API}/tasks/{slow}")).json()["createdAt"]

        for query, expected in (
            ({"status": "COMPLETED"}, {done}),
            ({"status": ["COMPLETED", "QUEUED"]}, {done, slow, ann}),
            ({"status": "FAILED"}, set()),
            ({"type": "echo"}, {done, slow, ann}),
            ({"type": "review"}, set()),
            ({"lane": "batch"}, {slow}),
            ({"tag": "eu"}, {slow}),
            ({"user": "ann"}, {ann}),
            ({"createdAfter": middle}, {slow, ann}),
            ({"createdBefore": middle}, {done}),
            ({"lane": "batch", "tag": "slow", "user": "ann"}, set()),
        ):
            items = await pages(client, f"{API}/tasks", **query)
            assert {item["taskId"] for item in items} == expected, query

    async def test_an_item_is_a_status_and_whose_it_is(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        await engine.submit()
        await engine.worker.complete(await engine.worker.claim(), 7)
        item = (await client.get(f"{API}/tasks")).json()["items"][0]

        assert (item["type"], item["lane"]) == ("echo", "interactive")
        assert (item["tenant"], item["user"]) == ("local", "local")
        assert item["result"] is None
        assert (await client.get(item["resultUrl"])).json() == 7

    async def test_only_the_callers_tenant(self, engine: Engine, client: httpx.AsyncClient) -> None:
        await engine.submit(caller=ACME)

        assert await pages(client, f"{API}/tasks") == []
        response = await client.get(f"{API}/tasks", headers={"X-Tenant-Id": "acme"})
        assert len(response.json()["items"]) == 1

    @pytest.mark.parametrize(
        ("query", "name"),
        [
            ("limit=0", "limit"),
            ("limit=201", "limit"),
            ("limit=x", "limit"),
            ("status=DONE", "status"),
            ("createdAfter=yesterday", "createdAfter"),
            ("createdBefore=17", "createdBefore"),
            ("after=", "after"),
            (f"type={'x' * 64}", "type"),
        ],
    )
    async def test_a_bad_parameter_is_refused_by_name(
        self, client: httpx.AsyncClient, query: str, name: str
    ) -> None:
        response = await client.get(f"{API}/tasks?{query}")

        assert response.status_code == 422
        assert response.json()["errors"][0]["parameter"] == name


class TestOne:
    async def test_all_of_a_task(self, engine: Engine, client: httpx.AsyncClient) -> None:
        task_id = (await engine.submit(value={"text": "x"}, tags=("eu",))).task_id
        await engine.worker.bury(await engine.worker.claim())
        body = (await client.get(f"{API}/tasks/{task_id}")).json()

        assert body["input"]["text"] == "x"
        assert (body["tags"], body["cancelRequested"], body["seq"]) == (["eu"], False, 3)
        failure = body["failures"][0]
        assert (failure["attempt"], failure["failureKind"]) == (1, "BUG")
        assert failure["trace"] == "Trace: secret"

    async def test_a_trace_is_for_operators(self, keyed: Engine) -> None:
        task_id = (await keyed.submit(caller=ACME)).task_id
        await keyed.worker.bury(await keyed.worker.claim())
        async with http(keyed) as client:
            for role, sees in (("read", False), ("submit", False), ("operate", True)):
                headers = await keyed.key(role)
                response = await client.get(f"{API}/tasks/{task_id}", headers=headers)
                assert ("secret" in response.text) is sees

    async def test_a_result_only_when_there_is_one(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        task_id = (await engine.submit()).task_id
        early = await client.get(f"{API}/tasks/{task_id}/result")
        await engine.worker.complete(await engine.worker.claim(), [1, 2])
        late = await client.get(f"{API}/tasks/{task_id}/result")

        assert (early.status_code, early.json()["type"]) == (409, "urn:stagepost:problem:conflict")
        assert (late.status_code, late.json()) == (200, [1, 2])
        assert late.headers["content-type"] == "application/json"

    async def test_a_result_of_null(self, engine: Engine, client: httpx.AsyncClient) -> None:
        task_id = (await engine.submit()).task_id
        await engine.worker.complete(await engine.worker.claim(), None)

        assert (await client.get(f"{API}/tasks/{task_id}/result")).text == "null"

    async def test_the_history_page_by_page(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        task_id = (await engine.submit()).task_id
        task = await engine.worker.claim()
        await engine.worker.progress(task, 10, "reading")
        await engine.worker.step(task, "parse")
        await engine.worker.complete(task, {"a": 1})

        events = await pages(client, f"{API}/tasks/{task_id}/events", limit=2)
        assert [event["seq"] for event in events] == [1, 2, 3, 4, 5]
        assert [event["event"] for event in events] == [
            "queued", "started", "progress", "step", "completed",
        ]  # fmt: skip
        assert list(events[0]) == ["seq", "event", "data", "timestamp"]
        assert events[2]["data"] == {"progress": 10, "message": "reading", "step": "work"}
        assert events[3]["data"] == {"name": "parse", "path": "parse", "state": "saved"}
        assert events[4]["data"]["result"] == {"a": 1}
        assert events[4]["data"]["progress"] == 100

    async def test_the_steps_page_by_page(self, engine: Engine, client: httpx.AsyncClient) -> None:
        task_id = (await engine.submit()).task_id
        task = await engine.worker.claim()
        for name in ("parse", "clauses", "report"):
            await engine.worker.step(task, name)

        steps = await pages(client, f"{API}/tasks/{task_id}/steps", limit=2)
        assert [step["path"] for step in steps] == ["parse", "clauses", "report"]
        assert list(steps[0]) == [
            "path", "name", "state", "attempt", "fence", "startedAt", "completedAt", "bytes",
            "cost",
        ]  # fmt: skip
        assert (steps[0]["state"], steps[0]["bytes"]) == ("saved", 1)

    @pytest.mark.parametrize(
        "part",
        [
            "",
            "/result",
            "/events",
            "/steps",
            "/calls",
            "/artifacts",
            "/artifacts/a",
            "/progress",
        ],
    )
    async def test_another_tenants_task_is_not_there(
        self, engine: Engine, client: httpx.AsyncClient, part: str
    ) -> None:
        task_id = (await engine.submit(caller=ACME)).task_id
        response = await client.get(
            f"{API}/tasks/{task_id}{part}", headers={"X-Tenant-Id": "other"}
        )

        assert response.status_code == 404
        assert response.json()["type"] == "urn:stagepost:problem:not-found"


class TestArtifacts:
    async def test_they_are_listed_and_fetched(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        task_id = (await engine.submit()).task_id
        task = await engine.worker.claim()
        await engine.worker.artifact(task, "report.json", "application/json", b'{"a": 1}')
        await engine.worker.artifact(task, "甲/ä b.txt", "text/plain", b"text")

        items = await pages(client, f"{API}/tasks/{task_id}/artifacts", limit=1)
        assert [item["name"] for item in items] == ["report.json", "甲/ä b.txt"]
        assert list(items[0]) == ["name", "mediaType", "bytes", "sha256", "createdAt", "url"]
        assert items[0]["bytes"] == 8
        for item, content in zip(items, (b'{"a": 1}', b"text"), strict=True):
            response = await client.get(item["url"])
            assert response.content == content
            assert response.headers["content-type"].startswith(item["mediaType"])
            assert response.headers["content-length"] == str(len(content))
        assert (await client.get(f"{API}/tasks/{task_id}/artifacts/no")).status_code == 404

    @pytest.mark.parametrize(
        ("media_type", "shown", "way"),
        [
            ("text/html", "text/html; charset=utf-8", "inline"),
            ("image/svg+xml", "image/svg+xml", "attachment"),
            ("application/pdf", "application/pdf", "attachment"),
            ("text/html\r\nX-Evil: 1", "application/octet-stream", "attachment"),
            ("nonsense", "application/octet-stream", "attachment"),
        ],
    )
    async def test_a_strangers_file_can_do_no_harm(
        self, engine: Engine, client: httpx.AsyncClient, media_type: str, shown: str, way: str
    ) -> None:
        task_id = (await engine.submit()).task_id
        task = await engine.worker.claim()
        name = 'a"b.html'
        await engine.worker.artifact(task, name, media_type, b"<script>alert(1)</script>")
        url = (await client.get(f"{API}/tasks/{task_id}/artifacts")).json()["items"][0]["url"]
        response = await client.get(url)

        assert response.headers["content-type"] == shown
        assert response.headers["content-disposition"].startswith(f"{way}; filename*=UTF-8''a%22")
        assert response.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "x-evil" not in response.headers


class TestCancel:
    async def test_a_queued_task_is_cancelled_at_once(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        task_id = (await engine.submit()).task_id
        response = await client.post(f"{API}/tasks/{task_id}/cancel", json={"reason": "not needed"})

        assert (response.status_code, response.json()["status"]) == (200, "CANCELLED")
        events = (await client.get(f"{API}/tasks/{task_id}/events")).json()["items"]
        assert events[-1]["data"] == {"by": "local", "reason": "not needed"}

    async def test_a_running_task_is_asked_once(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        task_id = (await engine.submit()).task_id
        task = await engine.worker.claim()
        answers = [await client.post(f"{API}/tasks/{task_id}/cancel") for _ in range(2)]
        whole = (await client.get(f"{API}/tasks/{task_id}")).json()
        await engine.worker.obey(task)
        answers.append(await client.post(f"{API}/tasks/{task_id}/cancel"))

        assert [answer.status_code for answer in answers] == [202, 200, 200]
        assert [answer.json()["status"] for answer in answers] == [
            "RUNNING", "RUNNING", "CANCELLED",
        ]  # fmt: skip
        assert whole["cancelRequested"] is True

    @pytest.mark.parametrize("end", ["complete", "bury"])
    async def test_what_is_over_can_not_be_cancelled(
        self, engine: Engine, client: httpx.AsyncClient, end: str
    ) -> None:
        task_id = (await engine.submit()).task_id
        await getattr(engine.worker, end)(await engine.worker.claim())
        response = await client.post(f"{API}/tasks/{task_id}/cancel")

        assert (response.status_code, response.json()["type"]) == (
            409,
            "urn:stagepost:problem:conflict",
        )

    @pytest.mark.parametrize("body", [{"why": "x"}, {"reason": 5}, {"reason": "x" * 501}, []])
    async def test_a_bad_body_changes_nothing(
        self, engine: Engine, client: httpx.AsyncClient, body: Any
    ) -> None:
        task_id = (await engine.submit()).task_id
        response = await client.post(f"{API}/tasks/{task_id}/cancel", json=body)

        assert response.status_code == 422
        assert (await client.get(f"{API}/tasks/{task_id}")).json()["status"] == "QUEUED"

    async def test_of_another_tenant_is_not_there(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        task_id = (await engine.submit(caller=ACME)).task_id

        # Without headers a read by id finds any tenant's task, but a change does not.
        assert (await client.post(f"{API}/tasks/{task_id}/cancel")).status_code == 404
        headers = {"X-Tenant-Id": "acme"}
        response = await client.post(f"{API}/tasks/{task_id}/cancel", headers=headers)
        assert response.status_code == 200
