"""Dead letters: list, groups, redrive, discard."""

from typing import Any

import httpx
import pytest

from stagepost.caller import Caller
from stagepost.failure import FailureKind
from stagepost.records import Scope
from web.kit import API, Engine

DEAD = f"{API}/dead-letters"
NOBODY = "00000000-0000-7000-8000-000000000000"


async def bury(
    engine: Engine, kind: FailureKind = FailureKind.BUG, type_name: str = "echo", **options: Any
) -> str:
    """A new dead letter; gives its id."""
    task_id = (await engine.submit(type_name, **options)).task_id
    await engine.worker.bury(await engine.worker.claim(), kind)
    return task_id


async def state(client: httpx.AsyncClient, task_id: str) -> str:
    return str((await client.get(f"{API}/tasks/{task_id}")).json()["status"])


class TestList:
    async def test_newest_first_with_what_a_person_needs(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        bug = await bury(engine, FailureKind.BUG)
        away = await bury(engine, FailureKind.SERVER_ERROR)
        await engine.submit()
        items = (await client.get(DEAD)).json()["items"]

        assert [item["taskId"] for item in items] == [away, bug]
        assert [item["redriveEligible"] for item in items] == [True, False]
        assert items[0]["failedAt"] == items[0]["completedAt"]
        assert (items[0]["type"], items[0]["lane"]) == ("echo", "interactive")
        assert items[0]["failureKind"] == "SERVER_ERROR"

    async def test_filters_and_pages(self, engine: Engine, client: httpx.AsyncClient) -> None:
        first = await bury(engine, FailureKind.BUG, tags=("eu",))
        second = await bury(engine, FailureKind.TIMEOUT, lane="batch")
        for query, expected in (
            ({"failureKind": "BUG"}, [first]),
            ({"lane": "batch"}, [second]),
            ({"tag": "eu"}, [first]),
            ({"type": "review"}, []),
        ):
            items = (await client.get(DEAD, params=query)).json()["items"]
            assert [item["taskId"] for item in items] == expected

        page = (await client.get(DEAD, params={"limit": 1})).json()
        rest = (await client.get(DEAD, params={"limit": 1, "after": page["next"]})).json()
        assert [page["items"][0]["taskId"], rest["items"][0]["taskId"]] == [second, first]
        assert rest["next"] is None

    async def test_a_failure_kind_that_is_not_there_is_refused(
        self, client: httpx.AsyncClient
    ) -> None:
        listed = await client.get(DEAD, params={"failureKind": "NOPE"})
        sent = await client.post(f"{DEAD}/redrive", json={"filter": {"failureKind": "NOPE"}})
        for answer in (listed, sent):
            assert answer.status_code == 422
            assert all(kind in answer.json()["errors"][0]["detail"] for kind in FailureKind)

    async def test_groups(self, engine: Engine, client: httpx.AsyncClient) -> None:
        for kind in (FailureKind.BUG, FailureKind.TIMEOUT, FailureKind.BUG):
            await bury(engine, kind)
        oldest = (await client.get(DEAD)).json()["items"][-1]["failedAt"]

        both = (await client.get(DEAD, params={"groupBy": "failureKind,type"})).json()
        assert both["items"][0] == {
            "failureKind": "BUG", "type": "echo", "count": 2, "oldest": oldest,
            "estimatedCost": None,
        }  # fmt: skip
        assert [group["count"] for group in both["items"]] == [2, 1]
        one = (await client.get(DEAD, params={"groupBy": "type"})).json()
        assert [
            (group["failureKind"], group["type"], group["count"]) for group in one["items"]
        ] == [(None, "echo", 3)]

    @pytest.mark.parametrize(
        ("query", "name"),
        [("groupBy=lane", "groupBy"), ("groupBy=type&after=x", "after"), ("limit=500", "limit")],
    )
    async def test_bad_parameters(self, client: httpx.AsyncClient, query: str, name: str) -> None:
        response = await client.get(f"{DEAD}?{query}")

        assert response.status_code == 422
        assert response.json()["errors"][0]["parameter"] == name


class TestRedrive:
    async def test_by_id(self, engine: Engine, client: httpx.AsyncClient) -> None:
        task_id = await bury(engine)
        response = await client.post(f"{DEAD}/redrive", json={"taskIds": [task_id, task_id]})

        assert response.status_code == 202
        assert response.json() == {"redriveId": response.json()["redriveId"], "matched": 1}
        events = (await client.get(f"{API}/tasks/{task_id}/events")).json()["items"]
        assert events[-1]["event"] == "redriven"
        assert events[-1]["data"] == {"by": "local", "resume": "checkpoints"}
        assert await state(client, task_id) == "QUEUED"

    async def test_by_filter(self, engine: Engine, client: httpx.AsyncClient) -> None:
        first = await bury(engine, FailureKind.BUG)
        second = await bury(engine, FailureKind.TIMEOUT)
        response = await client.post(
            f"{DEAD}/redrive", json={"filter": {"failureKind": "BUG", "type": "echo"}}
        )

        assert response.json()["matched"] == 1
        assert await state(client, first) == "QUEUED"
        assert await state(client, second) == "DEAD_LETTER"

    @pytest.mark.parametrize("way", ["redrive", "discard"])
    @pytest.mark.parametrize("empty", [{}, {"type": None}, {"type": None, "createdAfter": None}])
    async def test_a_filter_without_a_condition_is_not_all(
        self, engine: Engine, client: httpx.AsyncClient, way: str, empty: dict[str, None]
    ) -> None:
        task_id = await bury(engine)
        response = await client.post(f"{DEAD}/{way}", json={"filter": empty})

        assert response.status_code == 422
        assert await state(client, task_id) == "DEAD_LETTER"

    async def test_a_filter_that_finds_none(self, client: httpx.AsyncClient) -> None:
        response = await client.post(f"{DEAD}/redrive", json={"filter": {"type": "echo"}})

        assert (response.status_code, response.json()["matched"]) == (202, 0)

    async def test_a_dry_run_changes_nothing(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        task_id = await bury(engine)
        sent = {"filter": {"type": "echo"}, "dryRun": True}
        response = await client.post(f"{DEAD}/redrive", json=sent)

        assert response.status_code == 200
        body = response.json()
        assert body["matched"] == 1
        assert body["groups"][0]["failureKind"] == "BUG"
        assert body["groups"][0]["estimatedCost"] is None
        assert await state(client, task_id) == "DEAD_LETTER"

    async def test_where_it_goes_on(self, engine: Engine, client: httpx.AsyncClient) -> None:
        task_id = (await engine.submit()).task_id
        task = await engine.worker.claim()
        for name in ("parse", "clauses", "report"):
            await engine.worker.step(task, name)
        await engine.worker.bury(task)
        sent = {"taskIds": [task_id], "resume": {"fromStep": "clauses"}}
        assert (await client.post(f"{DEAD}/redrive", json=sent)).status_code == 202
        steps = (await client.get(f"{API}/tasks/{task_id}/steps")).json()["items"]
        assert [step["path"] for step in steps] == ["parse"]

        await engine.worker.bury(await engine.worker.claim())
        sent = {"taskIds": [task_id], "resume": "fresh"}
        assert (await client.post(f"{DEAD}/redrive", json=sent)).status_code == 202
        assert (await client.get(f"{API}/tasks/{task_id}/steps")).json()["items"] == []

    async def test_a_step_that_is_not_there(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        task_id = await bury(engine)
        sent = {"taskIds": [task_id], "resume": {"fromStep": "nothing"}}
        response = await client.post(f"{DEAD}/redrive", json=sent)

        assert response.status_code == 404
        assert await state(client, task_id) == "DEAD_LETTER"

    async def test_a_corrected_input(self, engine: Engine, client: httpx.AsyncClient) -> None:
        task_id = await bury(engine)
        wrong = {"taskIds": [task_id], "input": {"number": "many"}}
        response = await client.post(f"{DEAD}/redrive", json=wrong)
        assert response.status_code == 422
        assert await state(client, task_id) == "DEAD_LETTER"

        right = {"taskIds": [task_id], "input": {"text": "better"}}
        assert (await client.post(f"{DEAD}/redrive", json=right)).status_code == 202
        task = (await client.get(f"{API}/tasks/{task_id}")).json()
        assert task["input"]["text"] == "better"

    async def test_a_corrected_input_names_old_and_new_files(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        sent = await client.post(f"{API}/tasks/review", files={"file": ("old.txt", b"old")})
        task_id = sent.json()["taskId"]
        await engine.worker.bury(await engine.worker.claim())
        old = (await client.get(f"{API}/tasks/{task_id}")).json()["input"]["file"]["uploadId"]
        new = (await client.post(f"{API}/uploads", files={"f": ("new.txt", b"new")})).json()
        value = {"file": new["uploadId"], "more": [old]}
        response = await client.post(f"{DEAD}/redrive", json={"taskIds": [task_id], "input": value})

        assert response.status_code == 202
        task = (await client.get(f"{API}/tasks/{task_id}")).json()
        assert task["input"]["file"]["name"] == "new.txt"
        assert task["input"]["more"][0]["name"] == "old.txt"

    @pytest.mark.parametrize(
        "body",
        [
            None,
            [],
            {},
            {"filter": {}},
            {"taskIds": []},
            {"taskIds": ["x"]},
            {"taskIds": [NOBODY] * 1001},
            {"taskIds": [NOBODY], "filter": {"type": "echo"}},
            {"filter": {"status": "FAILED"}},
            {"filter": {"createdAfter": "yesterday"}},
            {"taskIds": [NOBODY], "resume": "somewhere"},
            {"taskIds": [NOBODY], "resume": {"fromStep": ""}},
            {"taskIds": [NOBODY], "resume": {"fromStep": "a"}, "input": {}},
            {"filter": {"type": "echo"}, "input": {}},
            {"taskIds": [NOBODY], "dryrun": True},
            {"taskIds": [NOBODY], "perMinute": 0},
            {"taskIds": [NOBODY], "canary": 101},
        ],
    )
    async def test_a_bad_body(self, client: httpx.AsyncClient, body: Any) -> None:
        response = await client.post(f"{DEAD}/redrive", json=body)

        assert response.status_code == 422
        assert response.json()["type"] == "urn:stagepost:problem:validation"

    async def test_one_unknown_id_changes_nothing(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        task_id = await bury(engine)
        response = await client.post(f"{DEAD}/redrive", json={"taskIds": [task_id, NOBODY]})

        assert response.status_code == 404
        assert await state(client, task_id) == "DEAD_LETTER"

    async def test_what_is_no_dead_letter_is_left_out(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        dead = await bury(engine)
        queued = (await engine.submit()).task_id
        both = await client.post(f"{DEAD}/redrive", json={"taskIds": [dead, queued]})
        none = await client.post(f"{DEAD}/redrive", json={"taskIds": [dead, queued]})

        assert (both.status_code, both.json()["matched"]) == (202, 1)
        assert (none.status_code, none.json()["type"]) == (409, "urn:stagepost:problem:conflict")

    async def test_a_type_without_a_handler_is_left_alone(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        task_id = await bury(engine)
        del engine.parts.app.types["echo"]  # type: ignore[attr-defined]
        by_id = await client.post(f"{DEAD}/redrive", json={"taskIds": [task_id]})
        by_filter = await client.post(f"{DEAD}/redrive", json={"filter": {"failureKind": "BUG"}})

        assert by_id.status_code == 404
        assert by_filter.json()["matched"] == 0
        assert await state(client, task_id) == "DEAD_LETTER"


class TestDiscard:
    async def test_with_who_and_why(self, engine: Engine, client: httpx.AsyncClient) -> None:
        task_id = await bury(engine)
        sent = {"taskIds": [task_id], "reason": "a test"}
        response = await client.post(f"{DEAD}/discard", json=sent)

        assert (response.status_code, response.json()) == (200, {"matched": 1})
        events = (await client.get(f"{API}/tasks/{task_id}/events")).json()["items"]
        assert events[-1]["event"] == "cancelled"
        assert events[-1]["data"] == {"by": "local", "reason": "a test"}

    async def test_by_filter(self, engine: Engine, client: httpx.AsyncClient) -> None:
        task_id = await bury(engine)
        response = await client.post(f"{DEAD}/discard", json={"filter": {"type": "echo"}})

        assert response.json() == {"matched": 1}
        assert await state(client, task_id) == "CANCELLED"
        assert (await client.get(DEAD)).json()["items"] == []

    async def test_twice(self, engine: Engine, client: httpx.AsyncClient) -> None:
        task_id = await bury(engine)
        answers = [
            await client.post(f"{DEAD}/discard", json={"taskIds": [task_id]}) for _ in range(2)
        ]

        assert [answer.status_code for answer in answers] == [200, 409]


@pytest.mark.parametrize("verb", ["redrive", "discard"])
async def test_another_tenants_dead_letter_is_not_there(
    engine: Engine, client: httpx.AsyncClient, verb: str
) -> None:
    acme = Caller("acme", "ann", Scope("acme"))
    task_id = await bury(engine, caller=acme)

    assert (await client.get(DEAD)).json()["items"] == []
    by_id = await client.post(f"{DEAD}/{verb}", json={"taskIds": [task_id]})
    by_filter = await client.post(f"{DEAD}/{verb}", json={"filter": {"type": "echo"}})
    assert (by_id.status_code, by_filter.json()["matched"]) == (404, 0)
    assert await state(client, task_id) == "DEAD_LETTER"
