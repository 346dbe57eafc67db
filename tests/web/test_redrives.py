"""Many tasks at once: redrives that are paced, watched and stopped, and cancel by filter."""

from typing import Any

import httpx
import pytest

from stagepost.caller import Caller
from stagepost.failure import FailureKind
from stagepost.mass import WINDOW
from stagepost.records import Scope
from web.kit import API, Engine, http

DEAD = f"{API}/dead-letters"
NOBODY = "00000000-0000-7000-8000-000000000000"


async def bury(engine: Engine, many: int = 1, **options: Any) -> list[str]:
    """New dead letters."""
    ids = []
    for _ in range(many):
        ids.append((await engine.submit(**options)).task_id)
        await engine.worker.bury(await engine.worker.claim())
    return ids


async def redrive(client: httpx.AsyncClient, **body: Any) -> str:
    """Begin a redrive of all BUGs."""
    sent = {"filter": {"failureKind": "BUG"}, **body}
    answer = await client.post(f"{DEAD}/redrive", json=sent)
    assert answer.status_code == 202
    return str(answer.json()["redriveId"])


async def look(client: httpx.AsyncClient, redrive_id: str) -> dict[str, Any]:
    answer = await client.get(f"{API}/redrives/{redrive_id}")
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


async def turn(engine: Engine) -> None:
    """What the engine's loop does in one turn."""
    for change_id in await engine.store.mass.open(100):
        await engine.store.mass.advance(change_id)


class TestRedrives:
    async def test_what_becomes_of_it_is_told(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        await bury(engine, 3)
        redrive_id = await redrive(client)
        assert await look(client, redrive_id) == {
            "redriveId": redrive_id, "state": "running", "matched": 3, "sent": 3, "completed": 0,
            "failed": 0, "reason": None,
        }  # fmt: skip
        await engine.worker.complete(await engine.worker.claim())
        await engine.worker.bury(await engine.worker.claim(), FailureKind.TIMEOUT)
        await turn(engine)
        told = await look(client, redrive_id)
        assert (told["state"], told["completed"], told["failed"]) == ("running", 1, 1)
        await engine.worker.complete(await engine.worker.claim())
        await turn(engine)
        told = await look(client, redrive_id)
        assert (told["state"], told["completed"], told["failed"]) == ("done", 2, 1)
        assert await engine.store.mass.open(100) == []

    async def test_more_than_a_window_goes_out_as_the_first_ones_end(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        await bury(engine, WINDOW + 5)
        redrive_id = await redrive(client)
        await turn(engine)
        told = await look(client, redrive_id)
        assert (told["matched"], told["sent"]) == (WINDOW + 5, WINDOW)
        for _ in range(3):
            await engine.worker.complete(await engine.worker.claim())
        await turn(engine)
        assert (await look(client, redrive_id))["sent"] == WINDOW + 3

    async def test_it_is_paced(self, engine: Engine, client: httpx.AsyncClient) -> None:
        await bury(engine, 3)
        redrive_id = await redrive(client, perMinute=1)
        await turn(engine)
        told = await look(client, redrive_id)
        assert (told["state"], told["matched"], told["sent"]) == ("running", 3, 1)

    async def test_canaries_go_first(self, engine: Engine, client: httpx.AsyncClient) -> None:
        await bury(engine, 5)
        redrive_id = await redrive(client, canary=2)
        await turn(engine)
        assert (await look(client, redrive_id))["sent"] == 2
        await engine.worker.complete(await engine.worker.claim())
        await engine.worker.bury(await engine.worker.claim())
        await turn(engine)
        told = await look(client, redrive_id)
        assert (told["state"], told["sent"]) == ("stopped", 2)
        assert told["reason"] == "1 of 2 canaries failed again, the last with BUG"

    async def test_it_stops_by_itself(self, engine: Engine, client: httpx.AsyncClient) -> None:
        await bury(engine, WINDOW + 5)
        redrive_id = await redrive(client)
        for _ in range(5):
            await engine.worker.bury(await engine.worker.claim())
        await turn(engine)
        told = await look(client, redrive_id)
        assert (told["state"], told["sent"], told["failed"]) == ("stopped", WINDOW, 5)
        assert told["reason"] == "5 of the last 5 failed again with BUG"
        await turn(engine)
        assert (await look(client, redrive_id))["sent"] == WINDOW

    async def test_a_person_stops_it(self, engine: Engine, client: httpx.AsyncClient) -> None:
        await bury(engine, 3)
        redrive_id = await redrive(client, perMinute=1)
        for _ in range(2):
            answer = await client.post(f"{API}/redrives/{redrive_id}/stop")
            assert answer.status_code == 200
            assert answer.json() == await look(client, redrive_id)
            assert (answer.json()["state"], answer.json()["sent"]) == ("stopped", 1)
            assert answer.json()["reason"] == "stopped by local"
        await engine.worker.complete(await engine.worker.claim())
        await turn(engine)
        told = await look(client, redrive_id)
        assert (told["state"], told["completed"]) == ("stopped", 1)

    async def test_a_dry_run_counts_any_number(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        await bury(engine, 3)
        sent = {"filter": {"failureKind": "BUG"}, "dryRun": True}
        body = (await client.post(f"{DEAD}/redrive", json=sent)).json()
        assert (body["matched"], body["groups"][0]["count"]) == (3, 3)
        assert await engine.store.mass.open(100) == []

    @pytest.mark.parametrize("redrive_id", [NOBODY, "x"])
    async def test_one_that_is_not_there(self, client: httpx.AsyncClient, redrive_id: str) -> None:
        assert (await client.get(f"{API}/redrives/{redrive_id}")).status_code == 404
        assert (await client.post(f"{API}/redrives/{redrive_id}/stop")).status_code == 404

    async def test_another_tenants_is_not_there(self, keyed: Engine) -> None:
        await bury(keyed, 2, caller=Caller("acme", "ann", Scope("acme")))
        async with http(keyed, **await keyed.key("operate")) as client:
            redrive_id = await redrive(client, perMinute=1)
        other = await keyed.key("operate", tenant="other")
        bound = await keyed.key("operate", user="ann")
        for headers in (other, bound):
            async with http(keyed, **headers) as client:
                assert (await client.get(f"{API}/redrives/{redrive_id}")).status_code == 404
                assert (await client.post(f"{API}/redrives/{redrive_id}/stop")).status_code == 404
        async with http(keyed, **await keyed.key("read")) as client:
            assert (await look(client, redrive_id))["state"] == "running"

    async def test_there_is_a_limit_of_those_under_way(
        self, engine: Engine, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("stagepost.stores.masses.OPEN_MOST", 2)
        await bury(engine, 2)
        first = await redrive(client, perMinute=1)
        await redrive(client, perMinute=1)
        sent = {"filter": {"failureKind": "BUG"}}
        refused = await client.post(f"{DEAD}/redrive", json=sent)
        assert (refused.status_code, "under way" in refused.json()["detail"]) == (409, True)
        await client.post(f"{API}/redrives/{first}/stop")
        for _ in range(2):
            await engine.worker.complete(await engine.worker.claim())
        await turn(engine)
        await redrive(client)


class TestCancelMany:
    async def cancel(self, client: httpx.AsyncClient, **body: Any) -> httpx.Response:
        return await client.post(f"{API}/tasks/cancel", json=body)

    async def test_all_that_a_filter_finds(self, engine: Engine, client: httpx.AsyncClient) -> None:
        tagged = [(await engine.submit(tags=("old",))).task_id for _ in range(3)]
        other = (await engine.submit()).task_id
        answer = await self.cancel(client, filter={"tag": "old"}, reason="a mistake")

        assert (answer.status_code, answer.json()) == (202, {"matched": 3})
        for task_id in tagged:
            events = (await client.get(f"{API}/tasks/{task_id}/events")).json()["items"]
            assert events[-1]["data"] == {"by": "local", "reason": "a mistake"}
        assert (await client.get(f"{API}/tasks/{other}/status")).json()["status"] == "QUEUED"
        assert (await self.cancel(client, filter={"tag": "old"})).json() == {"matched": 0}

    async def test_one_that_runs_is_asked(self, engine: Engine, client: httpx.AsyncClient) -> None:
        await engine.submit()
        task = await engine.worker.claim()
        waiting = (await engine.submit()).task_id
        only = await self.cancel(client, filter={"status": ["QUEUED"]})
        assert only.json() == {"matched": 1}
        path = f"{API}/tasks/{task.task_id}"
        assert not (await client.get(path)).json()["cancelRequested"]
        assert (await self.cancel(client, filter={"type": "echo"})).json() == {"matched": 1}
        assert (await client.get(path)).json()["cancelRequested"]
        assert (await client.get(f"{API}/tasks/{waiting}/status")).json()["status"] == "CANCELLED"

    async def test_any_number_page_by_page(self, engine: Engine, client: httpx.AsyncClient) -> None:
        for _ in range(250):
            await engine.submit()
        answer = await self.cancel(client, filter={"type": "echo"})
        later = (await engine.submit()).task_id
        assert answer.json() == {"matched": 250}
        for _ in range(3):
            await turn(engine)
        assert await engine.store.mass.open(10) == []
        left = (await client.get(f"{API}/tasks", params={"status": "QUEUED"})).json()["items"]
        # It came after the cancel had begun.
        assert [item["taskId"] for item in left] == [later]

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"filter": {}},
            {"filter": {"type": None}},
            {"filter": {"status": ["COMPLETED"]}},
            {"filter": {"status": []}},
            {"filter": {"failureKind": "BUG"}},
            {"taskIds": [NOBODY]},
            {"filter": {"type": "echo"}, "force": True},
        ],
    )
    async def test_a_bad_body(
        self, engine: Engine, client: httpx.AsyncClient, body: dict[str, Any]
    ) -> None:
        task_id = (await engine.submit()).task_id
        assert (await self.cancel(client, **body)).status_code == 422
        assert (await client.get(f"{API}/tasks/{task_id}/status")).json()["status"] == "QUEUED"

    async def test_of_the_own_tenant_only(self, engine: Engine, client: httpx.AsyncClient) -> None:
        await engine.submit(caller=Caller("acme", "ann", Scope("acme")))
        assert (await self.cancel(client, filter={"type": "echo"})).json() == {"matched": 0}

    async def test_a_user_bound_key_cancels_that_users_only(self, keyed: Engine) -> None:
        for user in ("ann", "bob"):
            await keyed.submit(caller=Caller("acme", user, Scope("acme", user)))
        async with http(keyed, **await keyed.key("submit", user="ann")) as client:
            assert (await self.cancel(client, filter={"type": "echo"})).json() == {"matched": 1}


async def test_a_discard_of_many_goes_on_after_the_answer(
    engine: Engine, client: httpx.AsyncClient
) -> None:
    await bury(engine, 102)
    sent = {"filter": {"type": "echo"}, "reason": "a test"}
    answer = await client.post(f"{DEAD}/discard", json=sent)
    assert (answer.status_code, answer.json()) == (202, {"matched": 102})
    await turn(engine)
    assert (await client.get(DEAD)).json()["items"] == []
