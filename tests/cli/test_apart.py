"""The API, workers and the maintenance as processes of their own, on one PostgreSQL."""

import asyncio
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from httpx_sse import connect_sse

from cli.serving import APPS, LONGEST, Server, serving, stagepost, until
from stagepost.stores.postgres.address import address_of
from stagepost.web.options import parse_instant
from support.postgres import Server as PostgresServer


@dataclass
class Fleet:
    """Starts processes on one schema."""

    folder: Path
    store: str
    blobs: Path
    started: int = 0
    api: Server = field(init=False)

    def start(self, *words: str, **more: str) -> AbstractContextManager[Server]:
        self.started += 1
        folder = self.folder / f"{words[0]}-{self.started}"
        return serving(
            folder,
            *words,
            STAGEPOST_STORE=self.store,
            STAGEPOST_BLOBS=self.blobs.as_uri(),
            cwd=APPS,
            **more,
        )

    def worker(self, *words: str, **more: str) -> AbstractContextManager[Server]:
        return self.start("worker", "--app", "rig:app", *words, **more)

    def submit(self, type_name: str, query: str = "", **value: object) -> str:
        answer = httpx.post(
            f"{self.api.url}/api/v1/tasks/{type_name}{query}", json=value, timeout=LONGEST
        )
        assert answer.status_code == 202, answer.text
        task_id: str = answer.json()["taskId"]
        return task_id

    def status(self, task_id: str, query: str = "") -> dict[str, Any]:
        found: dict[str, Any] = self.api.get(f"/api/v1/tasks/{task_id}/status{query}").json()
        return found

    def finished(self, task_id: str) -> dict[str, Any]:
        found: dict[str, Any] = {"final": False}
        limit = time.monotonic() + LONGEST
        while not found["final"]:
            assert time.monotonic() < limit, found
            found = self.status(task_id, "?wait=20")
        return found

    def events(self, task_id: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.api.get(f"/api/v1/tasks/{task_id}/events").json()[
            "items"
        ]
        assert [event["seq"] for event in found] == list(range(1, len(found) + 1))
        return found

    def database(self, expression: str, *arguments: object) -> Any:
        """A value that the database answers, in the schema of these processes."""
        address = address_of(self.store)

        async def ask() -> Any:
            settings = {"search_path": address.schema}
            connection = await asyncpg.connect(address.url, server_settings=settings)
            try:
                return await connection.fetchval(f"SELECT {expression}", *arguments)
            finally:
                await connection.close()

        return asyncio.run(ask())

    def reasons(self, task_id: str) -> list[str]:
        events = self.events(task_id)
        return [event["data"]["reason"] for event in events if event["event"] == "queued"]


@pytest.fixture
def fleet(tmp_path: Path, postgres_server: PostgresServer, request: Any) -> Iterator[Fleet]:
    """An API without a worker."""
    schema = f"fleet_{abs(hash(request.node.name)) % 10**12}"
    fleet = Fleet(tmp_path, postgres_server.url_of(schema), tmp_path / "blobs")
    with fleet.start("api", "--port", "0", "--app", "rig:app") as fleet.api:
        yield fleet


@contextmanager
def heard(fleet: Fleet, task_id: str) -> Iterator[list[tuple[str, Any]]]:
    """What a stream of the task says, until its end."""
    seen: list[tuple[str, Any]] = []

    def listen() -> None:
        url = f"{fleet.api.url}/api/v1/tasks/{task_id}/progress"
        with httpx.Client(timeout=LONGEST) as client, connect_sse(client, "GET", url) as stream:
            for event in stream.iter_sse():
                if event.data:
                    said = event.event, json.loads(event.data)
                    seen.append(said)  # they are looked at while they come

    listening = threading.Thread(target=listen)
    listening.start()
    try:
        yield seen
    finally:
        listening.join(LONGEST)
    assert not listening.is_alive(), "the stream did not end"


def text(seen: list[tuple[str, Any]]) -> str:
    return "".join(data["text"] for event, data in seen if event == "token")


def test_text_that_a_worker_emits_is_read_at_the_api_also_by_who_comes_late(fleet: Fleet) -> None:
    with fleet.worker() as worker:
        assert worker.out() == "ready worker\n"
        folder = fleet.folder
        task_id = fleet.submit("tell", folder=str(folder), steps=4, gate=-2)
        with heard(fleet, task_id) as early:
            until(lambda: "word-2" in text(early), "the words so far")
            with heard(fleet, task_id) as late:
                until(lambda: "word-2" in text(late), "the kept words")
                assert text(late) == text(early)
                (folder / "gate").touch()
        assert fleet.finished(task_id)["result"] == text(late) == text(early)
        assert early[-1][0] == late[-1][0] == "completed"


def test_a_cancel_reaches_a_worker_in_another_process(fleet: Fleet) -> None:
    # The next heartbeat, which would find it too, comes after this test has given up.
    slow = {"STAGEPOST_HEARTBEAT": "300", "STAGEPOST_LEASE": "1000"}
    with fleet.worker(**slow):
        task_id = fleet.submit("walk", folder=str(fleet.folder), steps=3, gate=1)
        until((fleet.folder / "waiting").exists, "the gate")
        answer = httpx.post(f"{fleet.api.url}/api/v1/tasks/{task_id}/cancel", timeout=LONGEST)
        assert answer.status_code == 202
        assert fleet.finished(task_id)["status"] == "CANCELLED"


def test_a_worker_that_is_stopped_gives_its_tasks_to_another(fleet: Fleet) -> None:
    with fleet.worker() as first:
        task_id = fleet.submit("walk", folder=str(fleet.folder), steps=4, gate=2)
        until((fleet.folder / "waiting").exists, "the gate")
        with fleet.worker():
            first.process.send_signal(signal.SIGTERM)
            until(lambda: "at their next checkpoint" in first.err(), "the drain")
            (fleet.folder / "gate").touch()
            assert first.process.wait(LONGEST) == 0, first.err()
            found = fleet.finished(task_id)
    assert (found["status"], found["attempt"]) == ("COMPLETED", 1)
    assert fleet.reasons(task_id) == ["submitted", "drained"]
    assert (fleet.folder / "log").read_text().split() == list("0123")


def test_a_worker_that_is_killed_is_replaced_and_another_process_has_its_task(
    fleet: Fleet,
) -> None:
    with fleet.worker() as first:
        task_id = fleet.submit("walk", folder=str(fleet.folder), steps=4, gate=2)
        until((fleet.folder / "waiting").exists, "the gate")
        with fleet.worker("--no-maintenance"):
            os.kill(first.serving[-1], signal.SIGKILL)
            (fleet.folder / "gate").touch()
            found = fleet.finished(task_id)
            until(lambda: len(first.serving) == 2, "another process")
    assert (found["status"], found["attempt"]) == ("COMPLETED", 1)
    assert fleet.reasons(task_id) == ["submitted", "rescued"]
    assert (fleet.folder / "log").read_text().split() == list("0123")


def test_a_worker_serves_the_lanes_that_it_is_given(fleet: Fleet) -> None:
    with fleet.worker("--lanes", "batch"):
        say, count = fleet.submit("say", word="yes"), fleet.submit("count", word="four")
        assert fleet.finished(count)["result"] == 4
        [worker] = fleet.api.get("/api/v1/workers").json()["items"]
        assert worker["lanes"] == ["batch"]
        assert fleet.status(say)["status"] == "QUEUED"
        with fleet.worker("--lanes", "interactive", "--no-maintenance"):
            assert fleet.finished(say)["result"] == "yes"


def test_the_maintenance_runs_where_it_is_told_to(fleet: Fleet) -> None:
    with fleet.worker("--no-maintenance"):
        later = fleet.submit("say", "?delaySeconds=0", word="later")
        assert fleet.finished(later)["result"] == "later"
        retried = fleet.submit("say", word="bug")
        until(lambda: fleet.status(retried)["status"] == "FAILED", "the first failure")
        due_at = parse_instant(fleet.status(retried)["nextAttemptAt"])
        until(lambda: fleet.database("now_ms()") > due_at, "the time of the retry")
        assert not fleet.database("EXISTS (SELECT FROM leases)"), "some process leads a loop"
        assert fleet.status(retried)["status"] == "FAILED", "nobody releases what is due"
        with fleet.start("maintenance", "--probe", "127.0.0.1:0") as maintenance:
            assert maintenance.out().startswith("ready maintenance http://127.0.0.1:")
            assert fleet.finished(retried)["status"] == "DEAD_LETTER"
            assert maintenance.get("/readyz").json()["status"] == "ok"
            assert maintenance.stop() == 0


def test_a_workers_probe_tells_its_readiness_and_what_it_did(fleet: Fleet) -> None:
    with fleet.worker("--probe", "127.0.0.1:0") as worker:
        assert worker.get("/healthz").json() == {"status": "ok"}
        checks = worker.get("/readyz").json()["checks"]
        assert {name: check["status"] for name, check in checks.items()} == dict.fromkeys(
            ("store", "disk", "draining", "bus", "limiter", "worker"), "ok"
        )
        task_id = fleet.submit("say", word="yes")
        assert fleet.finished(task_id)["status"] == "COMPLETED"
        done = 'stagepost_tasks_total{status="COMPLETED",type="say"} 1.0'
        until(lambda: done in worker.get("/metrics").text, "the count")
        # Each process counts what it committed itself.
        assert done not in fleet.api.get("/metrics").text
        accepted = 'stagepost_tasks_total{status="QUEUED",type="say"} 1.0'
        assert accepted in fleet.api.get("/metrics").text
        task_id = fleet.submit("walk", folder=str(fleet.folder), steps=2, gate=1)
        until((fleet.folder / "waiting").exists, "the gate")
        worker.process.send_signal(signal.SIGTERM)
        until(lambda: worker.get("/readyz").status_code == 503, "draining")
        (fleet.folder / "gate").touch()
        assert worker.process.wait(LONGEST) == 0, worker.err()


def test_a_key_that_is_revoked_at_one_api_ends_its_streams_at_another(fleet: Fleet) -> None:
    keys = {"STAGEPOST_AUTH": "keys"}
    with (
        fleet.start("api", "--port", "0", "--app", "rig:app", **keys) as one,
        fleet.start("api", "--port", "0", "--app", "rig:app", **keys) as other,
    ):
        text_of = one.out() + other.out()
        admin = {"Authorization": f"Bearer {text_of.split('(shown only now): ')[1].split()[0]}"}
        made = httpx.post(
            f"{one.url}/api/v1/keys", json={"name": "x", "roles": ["submit"]}, headers=admin
        ).json()
        key = {"Authorization": f"Bearer {made['key']}"}
        task = httpx.post(
            f"{other.url}/api/v1/tasks/say?delaySeconds=600", json={}, headers=key
        ).json()
        url = f"{other.url}{task['sseUrl']}"
        with (
            httpx.Client(timeout=LONGEST) as client,
            connect_sse(client, "GET", url, headers=key) as stream,
        ):
            events = stream.iter_sse()
            assert next(event for event in events if event.data).event == "status"
            gone = httpx.delete(f"{one.url}/api/v1/keys/{made['keyId']}", headers=admin)
            assert gone.status_code == 204
            assert [event for event in events if event.data] == []

        def ended() -> bool:
            return httpx.get(f"{other.url}/api/v1/tasks", headers=key).status_code == 401

        until(ended, "the end of the key")


def test_a_process_that_waits_for_its_store_refuses_with_one_sentence(fleet: Fleet) -> None:
    refused = stagepost(
        "worker", env={"STAGEPOST_STORE": "postgresql://user:secret@127.0.0.1:9/database"}
    )
    assert refused.code == 4
    assert "secret" not in refused.err
    assert refused.err.count("stagepost: ") == 1
