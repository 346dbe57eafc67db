"""GET .../status: the body, its tag, long polls."""

import asyncio
import re
from typing import Any

import httpx
import pytest

from stagepost.blobs import OFFLOAD_OVER
from stagepost.caller import Caller
from stagepost.task import CancelRequest, Wait
from web.kit import API, Engine, engine_in, http

FIELDS = [
    "taskId", "status", "final", "progress", "currentStep", "result", "errorMessage",
    "failureKind", "attempt", "maxAttempts", "nextAttemptAt", "waitingFor", "queuePosition",
    "estimatedSeconds", "createdAt", "startedAt", "completedAt",
]  # fmt: skip
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def path(task_id: str) -> str:
    return f"{API}/tasks/{task_id}/status"


async def status(client: httpx.AsyncClient, task_id: str) -> Any:
    response = await client.get(path(task_id))
    assert response.status_code == 200
    body = response.json()
    assert list(body)[: len(FIELDS)] == FIELDS
    return body


async def test_a_life_from_queue_to_result(engine: Engine, client: httpx.AsyncClient) -> None:
    await engine.worker.register()
    first = (await engine.submit()).task_id
    second = (await engine.submit()).task_id

    queued = await status(client, second)
    assert (queued["status"], queued["final"], queued["queuePosition"]) == ("QUEUED", False, 2)
    assert (queued["attempt"], queued["maxAttempts"], queued["waitingFor"]) == (1, 4, None)
    assert queued["startedAt"] is None

    task = await engine.worker.claim()
    assert task.task_id == first
    await engine.worker.progress(task, 40, "clause 7 of 42")
    running = await status(client, first)
    assert (running["status"], running["progress"]) == ("RUNNING", 40)
    assert (running["currentStep"], running["queuePosition"]) == ("clause 7 of 42", None)
    assert INSTANT.fullmatch(running["startedAt"])

    await engine.worker.complete(task, {"answer": [1, "二"]})
    done = await status(client, first)
    assert (done["status"], done["final"], done["progress"]) == ("COMPLETED", True, 100)
    assert done["result"] == {"answer": [1, "二"]}
    assert done["estimatedSeconds"] is None
    assert INSTANT.fullmatch(done["completedAt"])
    assert "resultUrl" not in done


async def test_a_large_result_is_told_of_by_its_address(
    engine: Engine, client: httpx.AsyncClient
) -> None:
    task_id = (await engine.submit()).task_id
    await engine.worker.complete(await engine.worker.claim(), "x" * OFFLOAD_OVER)

    body = await status(client, task_id)
    assert body["result"] is None
    assert body["resultBytes"] == OFFLOAD_OVER + 2
    response = await client.get(body["resultUrl"])
    assert response.json() == "x" * OFFLOAD_OVER
    assert response.headers["content-length"] == str(body["resultBytes"])


async def test_a_failed_attempt_is_not_final(engine: Engine, client: httpx.AsyncClient) -> None:
    task_id = (await engine.submit()).task_id
    await engine.worker.fail(await engine.worker.claim())

    body = await status(client, task_id)
    assert (body["status"], body["final"]) == ("FAILED", False)
    assert (body["failureKind"], body["errorMessage"]) == ("SERVER_ERROR", "It did not answer.")
    assert INSTANT.fullmatch(body["nextAttemptAt"])
    assert body["waitingFor"] == {
        "kind": "retry", "name": "SERVER_ERROR", "until": body["nextAttemptAt"],
    }  # fmt: skip


async def test_a_dead_letter_is_final(engine: Engine, client: httpx.AsyncClient) -> None:
    task_id = (await engine.submit()).task_id
    await engine.worker.bury(await engine.worker.claim())

    body = await status(client, task_id)
    assert (body["status"], body["final"]) == ("DEAD_LETTER", True)
    assert (body["errorMessage"], body["failureKind"]) == ("It is BUG.", "BUG")
    assert body["nextAttemptAt"] is None
    assert body["completedAt"] is not None


async def test_a_waiting_task_names_what_it_waits_for(
    engine: Engine, client: httpx.AsyncClient
) -> None:
    task_id = (await engine.submit()).task_id
    await engine.worker.park(await engine.worker.claim(), Wait("limit", "openai"))

    body = await status(client, task_id)
    assert (body["waitingFor"]["kind"], body["waitingFor"]["name"]) == ("limit", "openai")
    assert INSTANT.fullmatch(body["waitingFor"]["until"])


async def test_a_missing_worker_is_named(engine: Engine, client: httpx.AsyncClient) -> None:
    task_id = (await engine.submit()).task_id

    body = await status(client, task_id)
    assert body["waitingFor"] == {"kind": "worker", "name": "lane interactive", "until": None}


async def test_a_worker_that_does_not_know_the_type_is_no_help(engine: Engine) -> None:
    await engine.worker.register(types=("review",))
    task_id = (await engine.submit()).task_id

    async with http(engine) as client:
        body = await status(client, task_id)
    assert body["waitingFor"] == {"kind": "worker", "name": "type echo", "until": None}


async def test_the_estimate_follows_the_seeds_formula(client: httpx.AsyncClient) -> None:
    sent = await client.post(
        f"{API}/tasks/review", files={"file": ("a.txt", b"x" * (102_400 * 3 + 1))}
    )

    assert sent.json()["estimatedSeconds"] == 3 * 5 + 10
    body = await status(client, sent.json()["taskId"])
    assert body["estimatedSeconds"] == 25


class TestTag:
    async def test_the_same_state_is_not_modified(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        task_id = (await engine.submit()).task_id
        tag = (await client.get(path(task_id))).headers["etag"]

        for given in (tag, f"W/{tag}", f'"other", {tag}', "*"):
            response = await client.get(path(task_id), headers={"If-None-Match": given})
            assert response.status_code == 304
            assert response.headers["etag"] == tag
            assert response.content == b""

    async def test_it_does_not_move_with_the_place_in_the_queue(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        await engine.worker.register()
        await engine.submit()
        task_id = (await engine.submit()).task_id
        before = await client.get(path(task_id))
        await engine.worker.claim()
        after = await client.get(path(task_id))

        assert before.json()["queuePosition"] == 2
        assert after.json()["queuePosition"] == 1
        assert before.headers["etag"] == after.headers["etag"]

    async def test_it_moves_with_the_task(self, engine: Engine, client: httpx.AsyncClient) -> None:
        task_id = (await engine.submit()).task_id
        task = await engine.worker.claim()
        tags = [(await client.get(path(task_id))).headers["etag"]]
        await engine.worker.progress(task, 10)
        tags.append((await client.get(path(task_id))).headers["etag"])
        await engine.worker.complete(task)
        tags.append((await client.get(path(task_id))).headers["etag"])

        assert len(set(tags)) == 3


class TestLongPoll:
    async def test_without_a_tag_it_waits_for_the_end(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        task_id = (await engine.submit()).task_id

        async def work() -> None:
            task = await engine.worker.claim()
            await engine.worker.progress(task, 10)
            await engine.worker.complete(task, 7)

        response, _ = await asyncio.gather(
            client.get(path(task_id), params={"wait": 30}, timeout=60), work()
        )

        assert response.json()["result"] == 7

    async def test_with_a_tag_it_waits_for_a_move(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        task_id = (await engine.submit()).task_id
        task = await engine.worker.claim()
        tag = (await client.get(path(task_id))).headers["etag"]

        async def later() -> None:
            await asyncio.sleep(0.05)
            await engine.worker.progress(task, 10)

        response, _ = await asyncio.gather(
            client.get(
                path(task_id), params={"wait": 30}, headers={"If-None-Match": tag}, timeout=60
            ),
            later(),
        )

        assert (response.status_code, response.json()["progress"]) == (200, 10)
        assert response.headers["etag"] != tag

    async def test_what_does_not_move_is_not_modified(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        task_id = (await engine.submit()).task_id
        tag = (await client.get(path(task_id))).headers["etag"]
        response = await client.get(
            path(task_id), params={"wait": 1}, headers={"If-None-Match": tag}
        )

        assert response.status_code == 304

    async def test_what_does_not_end_is_told_as_it_is(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        task_id = (await engine.submit()).task_id
        response = await client.get(path(task_id), params={"wait": 1})

        assert (response.status_code, response.json()["status"]) == (200, "QUEUED")

    async def test_a_draining_process_answers_at_once(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        task_id = (await engine.submit()).task_id
        engine.parts.draining.set()
        response = await client.get(path(task_id), params={"wait": 30}, timeout=20)

        assert response.json()["status"] == "QUEUED"

    @pytest.mark.parametrize("wait", ["31", "-1", "x", "1.5"])
    async def test_a_bad_wait_is_refused(
        self, engine: Engine, client: httpx.AsyncClient, wait: str
    ) -> None:
        task_id = (await engine.submit()).task_id
        response = await client.get(path(task_id), params={"wait": wait})

        assert response.status_code == 422
        assert response.json()["errors"][0]["parameter"] == "wait"

    async def test_nothing_is_left_behind(self, engine: Engine, client: httpx.AsyncClient) -> None:
        task_id = (await engine.submit()).task_id
        await client.get(path(task_id), params={"wait": 1})

        assert engine.notifier.watchers == 0


async def test_a_task_of_another_tenant_is_not_there(
    engine: Engine, client: httpx.AsyncClient
) -> None:
    task_id = (await engine.submit(caller=Caller("acme", "ann"))).task_id

    assert (await client.get(path(task_id))).status_code == 200
    for tenant, expected in (("acme", 200), ("other", 404)):
        response = await client.get(path(task_id), headers={"X-Tenant-Id": tenant})
        assert response.status_code == expected
    response = await client.get(path(task_id), headers={"X-User-Id": "ann"})
    assert response.status_code == 404


@pytest.mark.parametrize(
    "task_id", ["x", "00000000-0000-7000-8000-000000000000", "%2e%2e", "A" * 999]
)
async def test_what_is_no_task_is_not_found(client: httpx.AsyncClient, task_id: str) -> None:
    response = await client.get(path(task_id))

    assert response.status_code == 404
    assert response.headers["content-type"] == "application/problem+json"


async def test_a_cancelled_task_has_no_error(engine: Engine, client: httpx.AsyncClient) -> None:
    task_id = (await engine.submit()).task_id
    await engine.client.cancel(task_id)

    body = await status(client, task_id)
    assert (body["status"], body["final"], body["errorMessage"]) == ("CANCELLED", True, None)
    assert CancelRequest("local").reason == ""


async def test_a_silent_worker_counts_as_missing(tmp_path: Any) -> None:
    async with engine_in(tmp_path, lease=0.001, heartbeat=0.0001) as engine:
        await engine.worker.register()
        task_id = (await engine.submit()).task_id
        await asyncio.sleep(0.01)
        async with http(engine) as client:
            body = await status(client, task_id)
    assert body["waitingFor"]["kind"] == "worker"


async def test_a_parameter_out_of_its_range_is_named_with_it(
    engine: Engine, client: httpx.AsyncClient
) -> None:
    task_id = (await engine.submit()).task_id
    refused = await client.get(f"{API}/tasks/{task_id}/status?wait=99")
    assert refused.status_code == 422
    assert refused.json()["detail"].startswith("wait is not valid: ")
    assert "30" in refused.json()["detail"]
