"""POST /api/v1/tasks/{type}."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from stagepost.errors import IdempotencyInProgress
from stagepost.records import Filter, Scope
from stagepost.task import Status
from web.kit import API, Engine

ECHO = f"{API}/tasks/echo"
REVIEW = f"{API}/tasks/review"


def problem(response: httpx.Response, status: int, slug: str) -> Any:
    """The problem document of a refusal."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    document = response.json()
    assert document["type"] == f"urn:stagepost:problem:{slug}"
    assert document["status"] == status
    return document


async def count(engine: Engine) -> int:
    return len(await engine.store.find(Scope(None), Filter()))


async def test_an_accepted_task_is_durable_and_told_of_in_full(
    engine: Engine, client: httpx.AsyncClient
) -> None:
    response = await client.post(ECHO, json={"text": "hello"})

    assert response.status_code == 202
    body = response.json()
    task_id = body["taskId"]
    assert list(body) == [
        "taskId", "type", "status", "lane", "estimatedSeconds", "pollUrl", "sseUrl", "createdAt",
    ]  # fmt: skip
    assert (body["type"], body["status"], body["lane"]) == ("echo", "QUEUED", "interactive")
    assert body["estimatedSeconds"] == 10
    assert body["pollUrl"] == f"{API}/tasks/{task_id}/status"
    assert body["sseUrl"] == f"{API}/tasks/{task_id}/progress"
    assert response.headers["location"] == f"{API}/tasks/{task_id}"
    task = (await engine.store.get(task_id, Scope("local", "local"))).task
    assert task.status is Status.QUEUED


async def test_the_input_is_kept_as_its_model_validates_it(client: httpx.AsyncClient) -> None:
    response = await client.post(ECHO, json={"number": "5"})

    task = (await client.get(response.headers["location"])).json()
    assert task["input"] == {"text": "", "number": 5, "words": [], "nested": {}}


async def test_a_field_that_does_not_exist_is_refused_by_its_name(
    engine: Engine, client: httpx.AsyncClient
) -> None:
    refused = problem(await client.post(ECHO, json={"txet": "hello"}), 422, "validation")
    assert refused["errors"] == [
        {
            "detail": "There is no such field; there are: text, number, words, nested.",
            "pointer": "#/txet",
        }
    ]
    form = {"file": ("a.txt", b"a"), "other": ("b.txt", b"b")}
    refused = problem(await client.post(REVIEW, files=form), 422, "validation")
    assert [fault["pointer"] for fault in refused["errors"]] == ["#/other"]
    assert await count(engine) == 0


async def test_a_file_that_did_not_come_as_it_should_is_told_plainly(
    client: httpx.AsyncClient,
) -> None:
    missing = problem(await client.post(REVIEW, json={}), 422, "validation")["errors"]
    assert missing[0]["pointer"] == "#/file"
    assert 'as the part "file" of a form' in missing[0]["detail"]
    assert "on the command line name the FILE" in missing[0]["detail"]
    two = [("file", ("a.txt", b"a")), ("file", ("b.txt", b"b"))]
    refused = problem(await client.post(REVIEW, files=two), 422, "validation")["errors"]
    assert refused[0]["detail"] == "Send one file only: this field takes no list of files."


async def test_the_options_reach_the_task(engine: Engine, client: httpx.AsyncClient) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    query = {
        "lane": "batch",
        "priority": "-30",
        "runAt": soon.isoformat(),
        "deadline": (soon + timedelta(hours=1)).isoformat(),
        "tag": ["a", "b", "a"],
    }
    response = await client.post(ECHO, json={}, params=query)

    assert response.json()["status"] == "PENDING"
    task = (await client.get(response.headers["location"])).json()
    assert (task["lane"], task["priority"], task["tags"]) == ("batch", -30, ["a", "b"])
    assert task["runAt"][:19] == soon.isoformat()[:19]
    assert task["deadline"][:19] == (soon + timedelta(hours=1)).isoformat()[:19]
    assert task["waitingFor"] == {"kind": "timer", "name": "runAt", "until": task["runAt"]}
    assert engine.settings.lanes.keys() == {"interactive", "batch"}


async def test_a_delay_keeps_a_task_pending(client: httpx.AsyncClient) -> None:
    response = await client.post(ECHO, json={}, params={"delaySeconds": "3600.5"})

    assert response.json()["status"] == "PENDING"


async def test_the_trace_of_the_request_is_the_tasks(client: httpx.AsyncClient) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    headers = {"traceparent": f"00-{trace}-b7ad6b7169203331-01"}
    response = await client.post(ECHO, json={}, headers=headers)

    assert response.headers["x-request-id"].startswith(f"{trace}-")
    task = (await client.get(response.headers["location"])).json()
    assert task["traceId"] == trace


@pytest.mark.parametrize(
    "given",
    [
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        "nonsense",
    ],
)
async def test_an_invalid_trace_is_replaced(client: httpx.AsyncClient, given: str) -> None:
    first = await client.post(ECHO, json={}, headers={"traceparent": given})
    second = await client.post(ECHO, json={}, headers={"traceparent": given})

    traces = {response.headers["x-request-id"].partition("-")[0] for response in (first, second)}
    assert len(traces) == 2
    assert "0af7651916cd43dd8448eb211c80319c" not in traces


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("lane=nowhere", "lane"),
        ("lane=", "lane"),
        ("lane=batch&lane=batch", "lane"),
        ("priority=high", "priority"),
        ("priority=1.5", "priority"),
        ("priority=86401", "priority"),
        ("priority=%D9%A3", "priority"),
        ("runAt=tomorrow", "runAt"),
        ("runAt=2026-01-01", "runAt"),
        ("runAt=2026-01-01T00:00:00", "runAt"),
        ("runAt=2026-13-01T00:00:00Z", "runAt"),
        ("runAt=9999-01-01T00:00:00Z", "runAt"),
        ("runAt=0001-01-01T00:00:00%2B23:59", None),
        ("delaySeconds=-1", "delaySeconds"),
        ("delaySeconds=1e3", "delaySeconds"),
        ("delaySeconds=nan", "delaySeconds"),
        ("delaySeconds=99999999", "delaySeconds"),
        ("delaySeconds=1&runAt=2030-01-01T00:00:00Z", "delaySeconds"),
        ("deadline=2020-01-01T00:00:00Z", "deadline"),
        ("uniqueKey=", "uniqueKey"),
        ("uniqueKey=%00", "uniqueKey"),
        ("uniqueKey=a&uniqueKey=b", "uniqueKey"),
        (f"uniqueKey={'x' * 256}", "uniqueKey"),
        ("debounceSeconds=5", "debounceSeconds"),
        ("uniqueKey=a&debounceSeconds=0", "debounceSeconds"),
        ("uniqueKey=a&debounceSeconds=soon", "debounceSeconds"),
        ("uniqueKey=a&debounceSeconds=99999999", "debounceSeconds"),
        ("uniqueKey=a&debounceSeconds=5&delaySeconds=5", "debounceSeconds"),
        ("uniqueKey=a&debounceSeconds=5&runAt=2030-01-01T00:00:00Z", "debounceSeconds"),
        ("tag=", "tag"),
        ("tag=%00", "tag"),
        (f"tag={'x' * 65}", "tag"),
        ("&".join(f"tag={number}" for number in range(21)), "tag"),
    ],
)
async def test_a_bad_option_is_refused_by_name(
    engine: Engine, client: httpx.AsyncClient, query: str, parameter: str | None
) -> None:
    response = await client.post(f"{ECHO}?{query}", json={})

    if parameter is None:
        # Before all times, but an instant: it runs at once.
        assert response.status_code in {202, 422}
        return
    document = problem(response, 422, "validation")
    assert document["errors"][0]["parameter"] == parameter
    assert await count(engine) == 0


@pytest.mark.parametrize(
    "name",
    ["callbackUrl", "Lane", "tags", ""],
)
async def test_an_unknown_parameter_is_refused(
    engine: Engine, client: httpx.AsyncClient, name: str
) -> None:
    response = await client.post(f"{ECHO}?{name}=x", json={})

    problem(response, 400, "unknown-parameter")
    assert await count(engine) == 0


async def test_an_unknown_type_is_not_found(client: httpx.AsyncClient) -> None:
    document = problem(await client.post(f"{API}/tasks/nothing", json={}), 404, "not-found")

    assert "echo" in document["detail"]


async def test_an_input_that_does_not_fit_names_its_fields(
    engine: Engine, client: httpx.AsyncClient
) -> None:
    sent = {"number": "many", "words": ["fine", 3], "text": "ok"}
    document = problem(await client.post(ECHO, json=sent), 422, "validation")

    assert {fault["pointer"] for fault in document["errors"]} == {"#/number", "#/words/1"}
    assert await count(engine) == 0


@pytest.mark.parametrize(
    ("content_type", "body", "status", "slug"),
    [
        ("application/json", b"", 400, "bad-request"),
        ("application/json", b"{", 400, "bad-request"),
        ("application/json", b'{"text": "\xff"}', 400, "bad-request"),
        ("application/json", b'{"number": NaN}', 400, "bad-request"),
        ("application/json", b"[]", 422, "validation"),
        ("text/plain", b"{}", 415, "unsupported-media-type"),
        ("", b"{}", 415, "unsupported-media-type"),
        ("application/x-www-form-urlencoded", b"text=x", 415, "unsupported-media-type"),
    ],
)
async def test_a_bad_body_is_refused(
    engine: Engine,
    client: httpx.AsyncClient,
    content_type: str,
    body: bytes,
    status: int,
    slug: str,
) -> None:
    headers = {"content-type": content_type} if content_type else {}
    problem(await client.post(ECHO, content=body, headers=headers), status, slug)

    assert await count(engine) == 0


async def test_a_compressed_body_is_refused(client: httpx.AsyncClient) -> None:
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    response = await client.post(ECHO, content=b"\x1f\x8b", headers=headers)

    problem(response, 415, "unsupported-media-type")


async def test_json_with_a_charset_is_json(client: httpx.AsyncClient) -> None:
    headers = {"content-type": "Application/JSON; charset=utf-8"}
    response = await client.post(ECHO, content='{"text": "合同"}'.encode(), headers=headers)

    assert response.status_code == 202


class TestPreferWait:
    async def test_the_outcome_comes_with_the_answer(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        async def work() -> None:
            await engine.worker.complete(await engine.worker.claim(), {"answer": 42})

        response, _ = await asyncio.gather(
            client.post(ECHO, json={}, headers={"Prefer": "respond-async, wait=10"}), work()
        )

        assert response.status_code == 200
        assert response.headers["preference-applied"] == "wait=10"
        assert response.json()["result"] == {"answer": 42}
        assert response.json()["final"] is True

    async def test_whatever_the_outcome(self, engine: Engine, client: httpx.AsyncClient) -> None:
        async def work() -> None:
            await engine.worker.bury(await engine.worker.claim())

        response, _ = await asyncio.gather(
            client.post(ECHO, json={}, headers={"Prefer": "wait=10"}), work()
        )

        assert (response.status_code, response.json()["status"]) == (200, "DEAD_LETTER")

    async def test_a_task_that_takes_longer_is_accepted(self, client: httpx.AsyncClient) -> None:
        response = await client.post(ECHO, json={}, headers={"Prefer": "wait=1"})

        assert response.status_code == 202
        assert "preference-applied" not in response.headers
        assert response.json()["pollUrl"]

    @pytest.mark.parametrize("prefer", ["wait=x", "wait=0", "await=5", "handling=strict", ""])
    async def test_another_preference_is_let_be(
        self, client: httpx.AsyncClient, prefer: str
    ) -> None:
        response = await client.post(ECHO, json={}, headers={"Prefer": prefer})

        assert response.status_code == 202


class TestIdempotency:
    async def test_the_same_key_and_content_is_the_same_task(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        headers = {"Idempotency-Key": "order 7"}
        first = await client.post(ECHO, json={"number": 5}, headers=headers)
        await engine.worker.claim()
        # Written otherwise, but the same once it is validated.
        second = await client.post(ECHO, json={"number": "5", "text": ""}, headers=headers)

        assert (first.status_code, second.status_code) == (202, 200)
        assert second.json() == {**first.json(), "status": "RUNNING"}
        assert await count(engine) == 1

    @pytest.mark.parametrize(
        ("path", "sent"),
        [
            (ECHO, {"number": 6}),
            (f"{ECHO}?priority=5", {"number": 5}),
            (f"{ECHO}?tag=x", {"number": 5}),
        ],
    )
    async def test_other_content_is_refused(
        self, engine: Engine, client: httpx.AsyncClient, path: str, sent: Any
    ) -> None:
        headers = {"Idempotency-Key": "order 7"}
        await client.post(ECHO, json={"number": 5}, headers=headers)
        response = await client.post(path, json=sent, headers=headers)

        problem(response, 422, "idempotency-mismatch")
        assert await count(engine) == 1

    async def test_a_form_with_another_boundary_is_the_same(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        headers = {"Idempotency-Key": "k"}
        answers = [
            await client.post(
                REVIEW,
                files={"file": ("a.txt", b"content", media_type)},
                data={"side": "partyA"},
                headers=headers,
            )
            for media_type in ("text/plain", "application/pdf")
        ]

        assert [answer.status_code for answer in answers] == [202, 200]
        assert answers[0].json()["taskId"] == answers[1].json()["taskId"]

    @pytest.mark.parametrize(("name", "content"), [("a.txt", b"other"), ("b.txt", b"content")])
    async def test_another_file_is_other_content(
        self, client: httpx.AsyncClient, name: str, content: bytes
    ) -> None:
        headers = {"Idempotency-Key": "k"}
        await client.post(REVIEW, files={"file": ("a.txt", b"content")}, headers=headers)
        response = await client.post(REVIEW, files={"file": (name, content)}, headers=headers)

        problem(response, 422, "idempotency-mismatch")

    async def test_a_form_and_a_kept_upload_of_the_same_file_are_the_same(
        self, client: httpx.AsyncClient
    ) -> None:
        headers = {"Idempotency-Key": "k"}
        first = await client.post(REVIEW, files={"file": ("a.txt", b"content")}, headers=headers)
        kept = await client.post(f"{API}/uploads", files={"file": ("a.txt", b"content")})
        second = await client.post(REVIEW, json={"file": kept.json()["uploadId"]}, headers=headers)

        assert second.status_code == 200
        assert second.json()["taskId"] == first.json()["taskId"]

    async def test_two_at_once_make_one_task(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        headers = {"Idempotency-Key": "k"}
        answers = await asyncio.gather(
            *(client.post(ECHO, json={"number": 5}, headers=headers) for _ in range(20))
        )

        assert sorted(answer.status_code for answer in answers) == [200] * 19 + [202]
        assert await count(engine) == 1

    @pytest.mark.parametrize("key", ["", "x" * 256, "schlüssel"])
    async def test_a_bad_key_is_refused(
        self, engine: Engine, client: httpx.AsyncClient, key: str
    ) -> None:
        response = await client.post(
            ECHO, json={}, headers=[(b"Idempotency-Key", key.encode("latin-1"))]
        )

        problem(response, 400, "bad-request")
        assert await count(engine) == 0

    async def test_a_final_replay_with_prefer_answers_with_the_outcome(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        headers = {"Idempotency-Key": "k", "Prefer": "wait=5"}
        await client.post(ECHO, json={}, headers={"Idempotency-Key": "k"})
        await engine.worker.complete(await engine.worker.claim(), 7)
        response = await client.post(ECHO, json={}, headers=headers)

        assert (response.status_code, response.json()["result"]) == (200, 7)

    async def test_users_never_share_a_key(self, engine: Engine, client: httpx.AsyncClient) -> None:
        ids = set()
        for user in ("ada", "bob"):
            headers = {"Idempotency-Key": "k", "X-User-Id": user}
            answers = [await client.post(ECHO, json={}, headers=headers) for _ in range(2)]
            assert [answer.status_code for answer in answers] == [202, 200]
            ids |= {answer.json()["taskId"] for answer in answers}
        assert len(ids) == 2
        assert await count(engine) == 2

    async def test_the_bytes_of_a_form_may_differ(self, client: httpx.AsyncClient) -> None:
        ids = set()
        for boundary, order in (("first", (0, 1)), ("second-one", (1, 0))):
            parts = [
                b'Content-Disposition: form-data; name="side"\r\n\r\npartyA\r\n',
                b'Content-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nbody\r\n',
            ]
            line = b"--" + boundary.encode()
            body = b"".join(line + b"\r\n" + parts[n] for n in order) + line + b"--\r\n"
            headers = {
                "Idempotency-Key": "k",
                "content-type": f"multipart/form-data; boundary={boundary}",
            }
            answer = await client.post(REVIEW, content=body, headers=headers)
            assert answer.status_code in {200, 202}, answer.text
            ids.add(answer.json()["taskId"])
        assert len(ids) == 1

    async def test_while_the_first_has_not_ended_it_is_refused(
        self, engine: Engine, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def under_way(*_: Any, **__: Any) -> Any:
            raise IdempotencyInProgress("Not yet.")

        monkeypatch.setattr(engine.client, "submit", under_way)
        response = await client.post(ECHO, json={}, headers={"Idempotency-Key": "k"})
        problem(response, 409, "idempotency-in-progress")


class TestUniqueKey:
    async def test_a_second_submit_gets_the_task_that_is_not_over(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        unique = {"uniqueKey": "customer 7"}
        first = await client.post(ECHO, json={"number": 1}, params=unique)
        await engine.worker.claim()
        second = await client.post(ECHO, json={"number": 2}, params={**unique, "lane": "batch"})

        assert (first.status_code, second.status_code) == (202, 200)
        assert second.json() == {**first.json(), "status": "RUNNING"}
        assert second.headers["location"] == first.headers["location"]
        assert await count(engine) == 1

    async def test_the_last_of_a_burst_counts(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        burst = {"uniqueKey": "document 9", "debounceSeconds": "3600"}
        answers = [
            await client.post(ECHO, json={"number": number}, params=burst) for number in range(3)
        ]
        assert [answer.status_code for answer in answers] == [202, 200, 200]
        task = (await client.get(answers[0].headers["location"])).json()
        assert (task["status"], task["input"]["number"]) == ("PENDING", 2)
        assert await count(engine) == 1

    async def test_a_deadline_before_its_end_is_refused(self, client: httpx.AsyncClient) -> None:
        soon = datetime.now(UTC) + timedelta(minutes=30)
        query = {"uniqueKey": "a", "debounceSeconds": "3600", "deadline": soon.isoformat()}
        refused = problem(await client.post(ECHO, json={}, params=query), 422, "validation")
        assert refused["errors"][0]["parameter"] == "deadline"
