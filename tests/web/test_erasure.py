"""DELETE of a task, and what is answered for one that is not kept any more."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from stagepost.blobs import OFFLOAD_OVER
from stagepost.blobstores.folder import FolderBlobs
from stagepost.caller import Caller
from stagepost.errors import StoreUnavailable
from stagepost.records import Scope
from stagepost.web import create_app
from web.kit import API, Engine, alive, http
from web.sse_reader import reading

PARTS = ("", "/status", "/result", "/events", "/steps", "/artifacts", "/artifacts/a", "/progress")


def files(folder: Path) -> list[Path]:
    """Every blob in the folder."""
    return sorted((folder / "blobs").glob("??/*"))


def digest(text: bytes) -> str:
    return sha256(text).hexdigest()


async def reviewed(engine: Engine, client: httpx.AsyncClient, result: Any = None) -> str:
    """A task with an upload, a step, an artifact and a result."""
    sent = await client.post(f"{API}/tasks/review", files={"file": ("secret.txt", b"secret")})
    task = await engine.worker.claim()
    await engine.worker.step(task, "read")
    await engine.worker.artifact(task, "a", "text/plain", b"artifact")
    await engine.worker.complete(task, result or {"secret": True})
    return str(sent.json()["taskId"])


async def test_an_erased_task_is_gone_with_all_its_files(
    engine: Engine, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    large = "x" * OFFLOAD_OVER
    task_id = await reviewed(engine, client, large)
    assert len(files(tmp_path)) == 3
    given = (await engine.store.get(task_id, Scope(None))).input
    erased = await client.delete(f"{API}/tasks/{task_id}")

    assert erased.status_code == 200
    body = erased.json()
    assert (body["taskId"], body["erasedBy"]) == (task_id, "local")
    assert body["hashes"] == {
        "input": digest(given.encode()),
        "result": digest(f'"{large}"'.encode()),
        "uploads": [digest(b"secret")],
        "artifacts": ["0" * 64],
    }
    assert files(tmp_path) == []
    for part in PARTS:
        answer = await client.get(f"{API}/tasks/{task_id}{part}")
        assert (answer.status_code, answer.json()["type"]) == (410, "urn:stagepost:problem:gone")
        assert body["erasedAt"] in answer.json()["detail"]
    assert (await client.post(f"{API}/tasks/{task_id}/cancel")).status_code == 410
    assert (await client.get(f"{API}/tasks")).json()["items"] == []


async def test_a_second_request_answers_the_same(engine: Engine, client: httpx.AsyncClient) -> None:
    task_id = await reviewed(engine, client)
    first, second = [await client.delete(f"{API}/tasks/{task_id}") for _ in range(2)]
    assert (second.status_code, second.json()) == (200, first.json())


async def test_a_task_that_is_not_over_is_kept(engine: Engine, client: httpx.AsyncClient) -> None:
    task_id = (await engine.submit()).task_id
    refused = await client.delete(f"{API}/tasks/{task_id}")
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:stagepost:problem:conflict")
    assert "cancel it" in refused.json()["detail"]
    await client.post(f"{API}/tasks/{task_id}/cancel")
    assert (await client.delete(f"{API}/tasks/{task_id}")).status_code == 200


async def test_a_file_that_another_task_names_stays_until_that_one_goes(
    engine: Engine, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    kept = (await client.post(f"{API}/uploads", files={"f": ("a.txt", b"shared")})).json()
    ids = []
    for _ in range(2):
        sent = await client.post(f"{API}/tasks/review", json={"file": kept["uploadId"]})
        ids.append(sent.json()["taskId"])
        await engine.worker.complete(await engine.worker.claim())
    await client.delete(f"{API}/tasks/{ids[0]}")
    assert [path.read_bytes() for path in files(tmp_path)] == [b"shared"]
    await client.delete(f"{API}/tasks/{ids[1]}")
    assert files(tmp_path) == []
    again = await client.post(f"{API}/tasks/review", json={"file": kept["uploadId"]})
    assert again.status_code == 422


async def test_files_that_can_not_be_removed_now_do_not_keep_the_task(
    engine: Engine, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id = await reviewed(engine, client)

    async def away(_self: FolderBlobs, _key: str) -> None:
        raise StoreUnavailable("away")

    monkeypatch.setattr(FolderBlobs, "delete", away)
    assert (await client.delete(f"{API}/tasks/{task_id}")).status_code == 200
    assert (await client.get(f"{API}/tasks/{task_id}")).status_code == 410


@pytest.mark.parametrize("task_id", ["00000000-0000-7000-8000-000000000000", "x", "echo"])
async def test_what_is_not_there(client: httpx.AsyncClient, task_id: str) -> None:
    assert (await client.delete(f"{API}/tasks/{task_id}")).status_code == 404


async def test_of_anothers_task_neither_the_content_nor_the_tombstone_is_seen(
    engine: Engine, client: httpx.AsyncClient
) -> None:
    ann, bob = Caller("acme", "ann", Scope("acme")), {"X-Tenant-Id": "other", "X-User-Id": "bob"}
    task_id = (await engine.submit(caller=ann)).task_id
    await engine.worker.complete(await engine.worker.claim())
    path = f"{API}/tasks/{task_id}"
    assert (await client.delete(path, headers=bob)).status_code == 404
    assert (await client.delete(path, headers={"X-Tenant-Id": "acme"})).status_code == 200
    assert (await client.delete(path, headers=bob)).status_code == 404
    assert (await client.get(path, headers=bob)).status_code == 404
    assert (await client.get(path, headers={"X-Tenant-Id": "acme"})).status_code == 410


async def test_it_needs_the_role_operate(keyed: Engine) -> None:
    task_id = (await keyed.submit(caller=Caller("acme", "ann", Scope("acme")))).task_id
    await keyed.worker.complete(await keyed.worker.claim())
    for role, status in (("submit", 403), ("operate", 200)):
        async with http(keyed, **await keyed.key(role)) as client:
            assert (await client.delete(f"{API}/tasks/{task_id}")).status_code == status


async def test_a_path_says_that_it_can_be_deleted(client: httpx.AsyncClient) -> None:
    for name in ("00000000-0000-7000-8000-000000000000", "echo", "x"):
        refused = await client.put(f"{API}/tasks/{name}")
        assert (refused.status_code, refused.headers["allow"]) == (405, "DELETE, GET, POST")


class TestPrunedEvents:
    async def pruned(self, engine: Engine) -> str:
        """A task that is over, of whose history only the end is left."""
        await engine.submit()
        task = await engine.worker.claim()
        await engine.worker.progress(task, 50)
        await engine.worker.complete(task, {"ok": True})
        page = await engine.store.retention.prune_events("", older_than=0.0, limit=10)
        assert page.changed == 3
        return task.task_id

    async def test_the_stream_is_a_snapshot_and_the_end(self, engine: Engine) -> None:
        task_id, app = await self.pruned(engine), create_app(engine.parts)
        async with alive(app), reading(app, task_id) as stream:
            await stream.until(lambda: stream.closed)
            told = [(event.event, event.id) for event in stream.parsed.events]
            assert told == [("status", "3"), ("completed", "4")]
            assert "reset" not in stream.parsed.events[0].data

    async def test_a_reader_that_has_missed_some_is_told_to_begin_anew(
        self, engine: Engine
    ) -> None:
        task_id, app = await self.pruned(engine), create_app(engine.parts)
        async with alive(app), reading(app, task_id, last="1") as stream:
            await stream.until(lambda: stream.closed)
            first, end = stream.parsed.events
            assert (first.event, first.data["reset"], end.event) == ("status", True, "completed")
        async with alive(app), reading(app, task_id, last="3") as stream:
            await stream.until(lambda: stream.closed)
            first, end = stream.parsed.events
            assert "reset" not in first.data
            assert end.id == "4"

    async def test_the_history_begins_later(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        task_id = await self.pruned(engine)
        events = (await client.get(f"{API}/tasks/{task_id}/events")).json()["items"]
        assert [(event["seq"], event["event"]) for event in events] == [(4, "completed")]
        assert events[0]["data"]["result"] == {"ok": True}
