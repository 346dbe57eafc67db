"""A task's calls to models through the API: listed, looked at, and what they cost."""

from typing import Any

import httpx

from stagepost.caller import Caller
from stagepost.calls import Body, CallEnd, Estimate
from stagepost.failure import FailureKind
from stagepost.outcome import Drained
from stagepost.records import Claimed, Scope
from support.calls import ANSWER, KEY, QUESTION, body, new_call, refused_call, result
from support.world import new_id
from web.kit import API, Engine, http

ACME = Caller("acme", "ann", Scope("acme"))


async def running(engine: Engine, caller: Caller = ACME) -> Claimed:
    await engine.submit(caller=caller)
    return await engine.worker.claim()


async def called(
    engine: Engine, claimed: Claimed, end: CallEnd | None = None, **changes: Any
) -> str:
    """A call, with its end if one is given."""
    call = new_call(**changes)
    await engine.store.calls.begin(claimed.lease, call)
    if end is not None:
        await engine.store.calls.end(claimed.task_id, call.id, end)
    return call.id


def calls_of(claimed: Claimed, call_id: str = "") -> str:
    path = f"{API}/tasks/{claimed.task_id}/calls"
    return f"{path}/{call_id}" if call_id else path


class TestList:
    async def test_a_call_tells_what_it_was_and_took(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        claimed = await running(engine)
        call_id = await called(engine, claimed, result())
        (item,) = (await client.get(calls_of(claimed))).json()["items"]
        started, ended = item.pop("startedAt"), item.pop("endedAt")
        assert started <= ended
        assert item == {
            "callId": call_id, "step": "analyse#1", "n": 0, "provider": "main", "model": "large",
            "attempt": 1, "state": "RESULT",
            "usage": {"input": 100, "cached": 20, "output": 30, "reasoning": 5},
            "estimate": {"input": 200, "output": 300, "cost": 0.001}, "cost": 0.00045,
            "tookSeconds": 0.9, "firstTokenSeconds": 0.2, "failureKind": None, "message": "",
            "maybeBilled": False, "late": False, "dropped": False, "redacted": False,
            "providerRequestId": "req-1", "requestHash": KEY.request_hash,
            "request": {"sha256": body(QUESTION).sha256, "bytes": len(QUESTION)},
            "answer": {"sha256": body(ANSWER).sha256, "bytes": len(ANSWER)},
        }  # fmt: skip

    async def test_page_by_page_in_the_order_of_their_beginning(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        claimed = await running(engine)
        made = [await called(engine, claimed, result()) for _ in range(5)]
        seen: list[str] = []
        after: str | None = None
        for _ in range(5):
            query = {"limit": "2"} | ({} if after is None else {"after": after})
            page = (await client.get(calls_of(claimed), params=query)).json()
            seen += [item["callId"] for item in page["items"]]
            after = page["next"]
            if after is None:
                break
        assert (seen, after) == (made, None)

    async def test_one_that_nobody_knows_the_end_of_is_listed(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        claimed = await running(engine)
        await called(engine, claimed)
        (flying,) = (await client.get(calls_of(claimed))).json()["items"]
        assert (flying["state"], flying["endedAt"], flying["answer"]) == ("INTENT", None, None)
        await engine.worker.settle(claimed, Drained())
        (lost,) = (await client.get(calls_of(claimed))).json()["items"]
        assert (lost["state"], lost["cost"]) == ("UNKNOWN", 0.001)

    async def test_what_a_provider_said_is_for_operators(self, keyed: Engine) -> None:
        claimed = await running(keyed)
        call_id = await called(keyed, claimed, refused_call(message="Key sk-1 is slow."))
        seen: dict[str, list[Any]] = {}
        async with http(keyed) as client:
            for role in ("read", "operate"):
                client.headers.update(await keyed.key(role))
                (item,) = (await client.get(calls_of(claimed))).json()["items"]
                whole = (await client.get(calls_of(claimed, call_id))).json()
                seen[role] = [each.get("message") for each in (item, whole)]
                assert item["failureKind"] == "RATE_LIMIT"
        assert seen == {"read": [None] * 2, "operate": ["Key sk-1 is slow."] * 2}

    async def test_an_id_that_is_none_is_refused(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        claimed = await running(engine)
        refused = await client.get(calls_of(claimed), params={"after": "x"})
        assert refused.status_code == 422
        assert refused.json()["errors"][0]["parameter"] == "after"


class TestOne:
    async def test_it_has_what_was_said(self, engine: Engine, client: httpx.AsyncClient) -> None:
        claimed = await running(engine)
        others = [await called(engine, claimed, result("[]")) for _ in range(2)]
        call_id = await called(engine, claimed, result())
        whole = (await client.get(calls_of(claimed, call_id))).json()
        items = (await client.get(calls_of(claimed))).json()["items"]
        assert whole.pop("requestBody") == {"messages": ["What is due?"]}
        assert whole.pop("answerBody") == {"text": "Ten euros."}
        assert whole == items[2]
        assert (await client.get(calls_of(claimed, others[0]))).json()["answerBody"] == []

    async def test_large_texts_are_read_from_where_they_are(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        claimed = await running(engine)
        content = b'{"text": "' + b"x" * 20_000 + b'"}'
        key = await engine.worker._blob(content)
        end = result(answer=Body("hash", len(content), None, key))
        call_id = await called(engine, claimed, end)
        whole = (await client.get(calls_of(claimed, call_id))).json()
        assert whole["answerBody"] == {"text": "x" * 20_000}

    async def test_what_is_too_large_to_be_shown_is_left_out(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        claimed = await running(engine)
        end = result(answer=Body("hash", 8 * 1024 * 1024 + 1, None, new_id()))
        call_id = await called(engine, claimed, end)
        whole = (await client.get(calls_of(claimed, call_id))).json()
        assert (whole["answerBody"], whole["answer"]["bytes"]) == (None, 8 * 1024 * 1024 + 1)

    async def test_what_is_no_json_is_a_text(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        claimed = await running(engine)
        call_id = await called(engine, claimed, result("sealed: 7f"))
        whole = (await client.get(calls_of(claimed, call_id))).json()
        assert whole["answerBody"] == "sealed: 7f"

    async def test_one_that_is_not_there(self, engine: Engine, client: httpx.AsyncClient) -> None:
        claimed = await running(engine)
        await called(engine, claimed, result())
        zero = "00000000-0000-0000-0000-000000000000"
        for other in (new_id(), claimed.task_id, zero, "x", "x" * 300):
            assert (await client.get(calls_of(claimed, other))).status_code == 404

    async def test_another_tasks_call_is_not_there(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        one, other = await running(engine), await running(engine)
        call_id = await called(engine, other, result())
        assert (await client.get(calls_of(other, call_id))).status_code == 200
        assert (await client.get(calls_of(one, call_id))).status_code == 404


async def test_another_tenant_and_another_user_see_none_of_it(keyed: Engine) -> None:
    claimed = await running(keyed)
    call_id = await called(keyed, claimed, result())
    strangers = [
        await keyed.key("admin", tenant="other"),
        await keyed.key("admin", tenant="default"),
        await keyed.key("read", user="bob"),
    ]
    async with http(keyed) as client:
        for headers in strangers:
            for path in (calls_of(claimed), calls_of(claimed, call_id)):
                assert (await client.get(path, headers=headers)).status_code == 404
        own = await keyed.key("read", user="ann")
        assert (await client.get(calls_of(claimed, call_id), headers=own)).status_code == 200


async def test_a_task_that_is_erased_has_no_calls_to_show(
    engine: Engine, client: httpx.AsyncClient
) -> None:
    claimed = await running(engine)
    call_id = await called(engine, claimed, result())
    await engine.worker.complete(claimed)
    task = f"{API}/tasks/{claimed.task_id}"
    headers = {"X-Tenant-Id": "acme"}
    assert (await client.delete(task, headers=headers)).status_code == 200
    for path in (calls_of(claimed), calls_of(claimed, call_id)):
        assert (await client.get(path)).status_code == 410


class TestCost:
    async def test_a_task_tells_what_its_calls_have_cost(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        claimed = await running(engine)
        task = f"{API}/tasks/{claimed.task_id}"
        assert (await client.get(task)).json()["cost"] == 0
        await called(engine, claimed, result())
        await called(engine, claimed, refused_call())
        billed = refused_call(kind=FailureKind.TIMEOUT, maybe_billed=True)
        await called(engine, claimed, billed, estimate=Estimate(1, 1, 7))
        await called(engine, claimed)
        await engine.worker.settle(claimed, Drained())
        found = (await client.get(task)).json()
        assert found["cost"] == 0.001457
        assert found["spent"] == {
            "calls": 4, "rejected": 0, "refused": 2, "unknown": 1,
            "inputTokens": 301, "cachedTokens": 20, "outputTokens": 331, "reasoningTokens": 5,
            "cost": 0.001457, "unknownCost": 0.001,
        }  # fmt: skip

    async def test_a_step_tells_what_its_own_have_cost(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        claimed = await running(engine)
        for path, cost in (("", 1), ("a", 10), ("b", 100), ("b/inner", 1_000), ("c", 10_000)):
            end = result(cost=cost)
            await called(engine, claimed, end, key=KEY._replace(path=path))
            await called(engine, claimed, end, key=KEY._replace(path=path, n=1))
        for name in ("b", "none", "a"):
            await engine.worker.step(claimed, name)
        steps = f"{API}/tasks/{claimed.task_id}/steps"
        items = (await client.get(steps)).json()["items"]
        costs = {item["path"]: item["cost"] for item in items}
        assert costs == {"a": 0.00002, "b": 0.0002, "none": 0}

    async def test_of_many_steps_each_finds_its_cost(
        self, engine: Engine, client: httpx.AsyncClient, monkeypatch: Any
    ) -> None:
        monkeypatch.setattr("stagepost.web.step_costs.PAGE_MOST", 2)
        claimed = await running(engine)
        names = [f"s{number}" for number in range(7)]
        for number, name in enumerate(names, 1):
            await called(engine, claimed, result(cost=number), key=KEY._replace(path=name))
            await engine.worker.step(claimed, name)
        steps = f"{API}/tasks/{claimed.task_id}/steps"
        items = (await client.get(steps)).json()["items"]
        assert [item["cost"] * 1_000_000 for item in items] == [1, 2, 3, 4, 5, 6, 7]
