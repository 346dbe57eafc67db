"""Processes of one version, and a database that the next one has already brought further."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

from cli.serving import APPS, LONGEST, Ran, Server, serving, stagepost, until
from stagepost.stores.postgres.schema import VERSION
from support.newer_schema import CONTRACT, EXPAND, drop, everything, upgrade
from support.postgres import Server as PostgresServer
from support.world import new_id


class Fleet:
    """Processes of the tested version on one database."""

    def __init__(self, folder: Path, store: str) -> None:
        self.folder = folder
        self.store = store
        self.env = {"STAGEPOST_STORE": store, "STAGEPOST_BLOBS": (folder / "blobs").as_uri()}
        self._started = 0
        self.api: Server

    def start(self, *words: str) -> AbstractContextManager[Server]:
        self._started += 1
        folder = self.folder / f"{words[0]}-{self._started}"
        return serving(folder, *words, "--app", "rig:app", cwd=APPS, **self.env)

    def run(self, *words: str, code: int) -> Ran:
        ran = stagepost(*words, cwd=APPS, env=self.env)
        assert ran.code == code, ran.out + ran.err
        return ran

    def post(self, path: str, value: object) -> Any:
        answer = httpx.post(f"{self.api.url}/api/v1{path}", json=value, timeout=LONGEST)
        assert answer.is_success, answer.text
        return answer.json()

    def get(self, path: str) -> Any:
        return self.api.get(f"/api/v1{path}").json()

    def submit(self, type_name: str, **value: object) -> str:
        task_id: str = self.post(f"/tasks/{type_name}", value)["taskId"]
        return task_id

    def status(self, task_id: str) -> Any:
        return self.get(f"/tasks/{task_id}/status")

    def finished(self, task_id: str) -> Any:
        until(lambda: self.status(task_id)["final"], "the end")
        return self.status(task_id)


@pytest.fixture
def fleet(tmp_path: Path, postgres_server: PostgresServer) -> Iterator[Fleet]:
    fleet = Fleet(tmp_path, postgres_server.url_of(f"newer_{new_id()[-12:]}"))
    with fleet.start("api", "--port", "0") as fleet.api:
        yield fleet
    asyncio.run(drop(fleet.store))


def test_processes_go_on_and_are_started_anew_beside_what_the_next_version_added(
    fleet: Fleet, tmp_path: Path
) -> None:
    with fleet.start("worker") as worker:
        walks = fleet.submit("walk", folder=str(tmp_path), steps=4, gate=2)
        asks, dead = fleet.submit("ask", word="listen"), fleet.submit("say", word="no")
        assert fleet.finished(dead)["status"] == "DEAD_LETTER"
        until((tmp_path / "waiting").exists, "the step in the middle")
        until(lambda: fleet.status(asks)["status"] == "WAITING", "the wait")

        asyncio.run(upgrade(fleet.store, EXPAND))

        (tmp_path / "gate").touch()
        assert fleet.finished(walks)["result"] == [0, 1, 2, 3]
        assert (tmp_path / "log").read_text().split() == ["0", "1", "2", "3"]
        fresh = fleet.submit("ask", word="yes")
        assert fleet.finished(fresh)["result"] == "yes"
        fleet.post(
            "/dead-letters/redrive",
            {"taskIds": [dead], "resume": "fresh", "input": {"word": "better"}},
        )
        until(lambda: fleet.status(dead)["result"] == "better", "the redrive")
        with fleet.start("worker") as second:
            assert worker.stop(signal.SIGTERM) == 0
            [child] = fleet.get(f"/batches/{asks}")["items"]
            fleet.post(f"/tasks/{child['taskId']}/signals/go", {"word": "heard"})
            assert fleet.finished(asks)["result"] == "listen"
            found = fleet.run("doctor", code=0).out
            assert (
                f"version {VERSION + 1}, newer than this Stagepost, which may work on it" in found
            )
            for process in (fleet.api, worker, second):
                assert "ERROR" not in process.err(), process.err()
                assert len(process.serving) == 1, "none has had to be started again"


def test_a_process_that_is_too_old_for_the_database_does_not_start_and_leaves_it(
    fleet: Fleet,
) -> None:
    assert fleet.api.stop() == 0
    asyncio.run(upgrade(fleet.store, CONTRACT))
    before = asyncio.run(everything(fleet.store))
    sentence = f"for which this Stagepost (version {VERSION}) is too old; install a newer one."
    for command in ("api --port 0 --app rig:app", "worker --app rig:app", "maintenance"):
        ran = fleet.run(*command.split(), code=4)
        assert sentence in ran.err
        assert "Traceback" not in ran.err
    fleet.run("doctor", code=1)
    assert asyncio.run(everything(fleet.store)) == before
