"""POST /api/v1/tasks/{id}/signals/{name}: who may send what, and what the waiting task shows."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from stagepost.caller import Caller
from stagepost.outcome import Waiting
from stagepost.records import Claimed, Scope
from stagepost.signals import ROLE_WORDS, NewWait
from stagepost.waiting import SignalSent, TimeComes
from stagepost.web.roles import WORDS
from web.kit import API, Engine, engine_in, http

ADA = Caller("acme", "ada", Scope("acme"))
WAIT = NewWait("wait_for approve", "wait_for approve", "hash", "approve")


async def begin(engine: Engine, **changes: Any) -> Claimed:
    """A claimed task of ada's that has begun to wait."""
    await engine.submit(caller=changes.pop("caller", ADA))
    claimed = await engine.worker.claim()
    await engine.store.waits.listen(claimed.lease, WAIT._replace(**changes))
    return claimed


async def park(engine: Engine, claimed: Claimed, until: int | None = None) -> None:
    condition = SignalSent("approve", WAIT.path, until)
    await engine.store.settle(claimed.lease, Waiting((condition,)))


def path(claimed: Claimed, name: str = "approve") -> str:
    return f"{API}/tasks/{claimed.task_id}/signals/{name}"


async def test_a_signal_wakes_the_task(engine: Engine) -> None:
    claimed = await begin(engine, caller=Caller())
    await park(engine, claimed)
    async with http(engine) as client:
        status = (await client.get(f"{API}/tasks/{claimed.task_id}/status")).json()
        assert (status["status"], status["final"]) == ("WAITING", False)
        assert status["waitingFor"] == {"kind": "signal", "name": "approve", "until": None}
        sent = await client.post(path(claimed), json={"ok": True})
        assert sent.status_code == 202
        assert sent.json() == {"taskId": claimed.task_id, "name": "approve", "status": "QUEUED"}
        shown = (await client.get(f"{API}/tasks/{claimed.task_id}/events")).json()["items"]
        assert [(e["event"], e["data"]) for e in shown[-2:]] == [
            ("waiting", {"for": {"kind": "signal", "name": "approve", "until": None}}),
            ("queued", {"reason": "woken"}),
        ]
    again = await engine.worker.claim()
    text = await engine.store.waits.listen(again.lease, WAIT)
    assert isinstance(text, str)
    assert text.startswith('[{"ok":true},["local",')


async def test_a_sleep_is_shown(engine: Engine) -> None:
    await engine.submit()
    claimed = await engine.worker.claim()
    pending = await engine.store.waits.sleep(claimed.lease, "sleep", 3_600)
    await engine.store.settle(claimed.lease, Waiting((TimeComes("sleep", pending.until or 0),)))
    async with http(engine) as client:
        status = (await client.get(f"{API}/tasks/{claimed.task_id}/status")).json()
        waiting = status["waitingFor"]
        assert (waiting["kind"], waiting["name"]) == ("timer", "sleep")
        assert waiting["until"] > status["createdAt"]


@pytest.mark.parametrize("sent", [None, 0, "text", [1, {"a": None}]])
async def test_any_json_is_a_signal(engine: Engine, sent: Any) -> None:
    claimed = await begin(engine, caller=Caller())
    async with http(engine) as client:
        body = {} if sent is None else {"json": sent}
        assert (await client.post(path(claimed), **body)).status_code == 202
    text = await engine.store.waits.listen(claimed.lease, WAIT)
    assert isinstance(text, str)
    assert httpx.Response(200, text=text).json()[0] == sent


async def test_what_is_refused(engine: Engine) -> None:
    claimed = await begin(engine, caller=Caller())
    async with http(engine) as client:
        for status, where, body in [
            (
                404,
                path(claimed).replace(claimed.task_id, "00000000-0000-7000-8000-000000000000"),
                b"1",
            ),
            (404, f"{path(claimed)}/more", b"1"),
            (422, path(claimed, "a%20b"), b"1"),
            (422, path(claimed, "a" * 65), b"1"),
            (400, path(claimed), b"{"),
            (400, f"{path(claimed)}?x=1", b"1"),
            (413, path(claimed), b'"' + b"x" * 65_536 + b'"'),
        ]:
            headers = {"Content-Type": "application/json"}
            response = await client.post(where, content=body, headers=headers)
            assert response.status_code == status, (where, response.text)
        assert (await client.post(path(claimed), content=b"1")).status_code == 415
        good = await client.post(path(claimed), json="x" * 65_534)
        assert good.status_code == 202
        for _ in range(99):
            assert (await client.post(path(claimed), json=1)).status_code == 202
        assert (await client.post(path(claimed), json=1)).status_code == 409
        await engine.worker.complete(claimed)
        over = await client.post(path(claimed), json=1)
        assert over.status_code == 409
        assert "takes no signals any more" in over.json()["detail"]


async def test_one_key_sends_one_signal(engine: Engine) -> None:
    claimed = await begin(engine, caller=Caller())
    async with http(engine) as client:
        for key, number in [("a", 1), ("a", 1), ("b", 2)]:
            headers = {"Idempotency-Key": key}
            sent = await client.post(path(claimed), json=number, headers=headers)
            assert sent.status_code == 202
        bodies = []
        for turn in range(2):
            wait = WAIT._replace(path=f"wait{turn}")
            bodies.append(str(await engine.store.waits.listen(claimed.lease, wait))[1])
            sent = await client.post(path(claimed), json=1, headers={"Idempotency-Key": "a"})
        assert bodies == ["1", "2"]
        assert not isinstance(await engine.store.waits.listen(claimed.lease, WAIT), str)
        long = {"Idempotency-Key": "x" * 256}
        assert (await client.post(path(claimed), json=1, headers=long)).status_code == 400


async def test_a_key_is_for_one_signal(engine: Engine) -> None:
    claimed = await begin(engine, caller=Caller())
    await park(engine, claimed)
    key = {"Idempotency-Key": "K1"}
    async with http(engine) as client:
        assert (await client.post(path(claimed, "other"), json=1, headers=key)).status_code == 202
        for where, body in [(path(claimed), 2), (path(claimed), 1), (path(claimed, "other"), 2)]:
            refused = await client.post(where, json=body, headers=key)
            assert refused.status_code == 422, refused.text
            assert refused.json()["type"] == "urn:stagepost:problem:idempotency-mismatch"
        again = await client.post(path(claimed, "other"), json=1, headers=key)
        assert (again.status_code, again.json()["status"]) == (202, "WAITING")
        sent = await client.post(path(claimed), json=2, headers={"Idempotency-Key": "K2"})
        assert (sent.status_code, sent.json()["status"]) == (202, "QUEUED")


async def test_approvers_are_users_or_roles(tmp_path: Path) -> None:
    async with engine_in(tmp_path, auth=("keys",)) as engine, http(engine) as client:
        claimed = await begin(engine, approvers=("bob", "operate"))
        for headers, status in [
            (await engine.key("read"), 403),
            (await engine.key("submit"), 403),
            (await engine.key("submit", user="eve"), 404),
            (await engine.key("operate", tenant="globex"), 404),
            (await engine.key("submit", user="bob", tenant="globex"), 404),
            (await engine.key("submit", user="bob"), 202),
            (await engine.key("operate"), 202),
            (await engine.key("admin"), 202),
        ]:
            response = await client.post(path(claimed), json=1, headers=headers)
            assert response.status_code == status, (headers, response.text)
        bob = await engine.key("submit", user="bob")
        other = await client.post(path(claimed, "other"), json=1, headers=bob)
        assert other.status_code == 404, "he may say what he is asked, and see nothing else"


def test_the_words_of_roles_are_those_of_the_table() -> None:
    assert tuple(WORDS) == ROLE_WORDS
