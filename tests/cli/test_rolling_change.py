"""A handler is changed while tasks are in the middle: real workers of two versions."""

import os
import re
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from cli.serving import APPS, LONGEST, Server, serving, stagepost, until, up
from support.postgres import Server as PostgresServer


class Fleet:
    """An API that knows the newest code, and workers of any."""

    def __init__(self, folder: Path, store: str) -> None:
        self._folder = folder
        self._store = store
        self._started = 0
        self.api: Server

    def start(self, *words: str, app: str = "") -> AbstractContextManager[Server]:
        self._started += 1
        return serving(
            self._folder / f"{words[0]}-{self._started}",
            *words,
            *(("--app", f"versions:{app}") if app else ()),
            STAGEPOST_STORE=self._store,
            STAGEPOST_BLOBS=(self._folder / "blobs").as_uri(),
            cwd=APPS,
        )

    @contextmanager
    def worker(self, app: str) -> Iterator[Server]:
        with self.start("worker", app=app) as worker:
            yield worker


@pytest.fixture
def fleet(tmp_path: Path, postgres_server: PostgresServer, request: Any) -> Iterator[Fleet]:
    schema = f"rolling_{abs(hash(request.node.name)) % 10**12}"
    fleet = Fleet(tmp_path, postgres_server.url_of(schema))
    with (
        fleet.start("api", "--port", "0", app="new") as fleet.api,
        fleet.start("maintenance"),
    ):
        yield fleet


class Letter:
    """One task of the changing type, in a folder of its own."""

    def __init__(self, server: Server, folder: Path) -> None:
        folder.mkdir()
        self._server = server
        self.folder = folder
        answer = httpx.post(
            f"{server.url}/api/v1/tasks/letter", json={"folder": str(folder)}, timeout=LONGEST
        )
        assert answer.status_code == 202, answer.text
        self.id = answer.json()["taskId"]

    def on(self, server: Server) -> "Letter":
        """The same task, asked for at a server that was started anew."""
        self._server = server
        return self

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self._server.get(f"/api/v1/tasks/{self.id}/status").json()
        return found

    def until_read(self) -> None:
        until((self.folder / "reading").exists, "the first step")
        until(lambda: len(self.steps()) == 1, "its checkpoint")

    def steps(self) -> list[str]:
        items = self._server.get(f"/api/v1/tasks/{self.id}/steps").json()["items"]
        return [item["name"] for item in items]

    def go_on(self) -> None:
        (self.folder / "gate").touch()

    def result(self) -> list[str]:
        until(lambda: self.status()["final"], "the end")
        status = self.status()
        assert status["status"] == "COMPLETED", status
        found: list[str] = status["result"]
        return found

    def ran(self) -> list[str]:
        """Each step that was really run."""
        return (self.folder / "log").read_text().split()


def test_workers_of_two_versions_each_finish_their_own(fleet: Fleet, tmp_path: Path) -> None:
    with fleet.worker("old") as old:
        begun = [Letter(fleet.api, tmp_path / f"old-{number}") for number in range(3)]
        for letter in begun:
            letter.until_read()
        with fleet.worker("new") as new:
            assert old.stop(signal.SIGTERM) == 0
            # They were drained and are queued again; the new worker lets them be.
            until(lambda: {each.status()["status"] for each in begun} == {"QUEUED"}, "the drain")
            fresh = Letter(fleet.api, tmp_path / "new")
            fresh.until_read()
            until(
                lambda: (
                    begun[0].status()["waitingFor"]
                    == {"kind": "worker", "name": "version 1 of letter", "until": None}
                ),
                "the reason",
            )
            for letter in (*begun, fresh):
                letter.go_on()
            assert fresh.result() == ["read", "translate", "answer", "by 2"]
            assert {each.status()["status"] for each in begun} == {"QUEUED"}
            with fleet.worker("old"):
                for letter in begun:
                    assert letter.result() == ["read", "answer", "by 1"]
                    assert letter.ran() == ["read", "answer"]
            assert fresh.ran() == ["read", "translate", "answer"]
            assert new.process.poll() is None


def test_a_version_that_accepts_the_old_one_finishes_it_as_that_would(
    fleet: Fleet, tmp_path: Path
) -> None:
    with fleet.worker("old") as old:
        begun = Letter(fleet.api, tmp_path / "begun")
        begun.until_read()
        os.kill(old.serving[-1], signal.SIGKILL)
        old.stop(signal.SIGKILL)
    with fleet.worker("both"):
        begun.go_on()
        fresh = Letter(fleet.api, tmp_path / "fresh")
        fresh.go_on()
        assert begun.result() == ["read", "answer", "by 2 as 1"]
        assert fresh.result() == ["read", "translate", "answer", "by 2 as 2"]
    assert begun.ran() == ["read", "answer"], "the saved step is not run again"


def test_a_fresh_redrive_takes_the_new_version(fleet: Fleet, tmp_path: Path) -> None:
    with fleet.worker("broken"):
        letter = Letter(fleet.api, tmp_path / "letter")
        letter.go_on()
        until(lambda: letter.status()["status"] == "DEAD_LETTER", "the dead letter")
    with fleet.worker("new"):
        answer = httpx.post(
            f"{fleet.api.url}/api/v1/dead-letters/redrive",
            json={"taskIds": [letter.id], "resume": "fresh"},
            timeout=LONGEST,
        )
        assert answer.status_code == 202, answer.text
        assert letter.result() == ["read", "translate", "answer", "by 2"]
    assert letter.ran() == ["read", "read", "translate", "answer"]


def test_changed_code_under_the_same_version_is_told_not_mixed(
    fleet: Fleet, tmp_path: Path
) -> None:
    with fleet.worker("old") as old:
        letter = Letter(fleet.api, tmp_path / "letter")
        letter.until_read()
        assert old.stop(signal.SIGTERM) == 0
    with fleet.worker("careless"):
        letter.go_on()
        until(lambda: letter.status()["final"], "the end")
    status = letter.status()
    assert (status["status"], status["failureKind"]) == ("DEAD_LETTER", "CODE_CHANGED")
    assert letter.ran() == ["read"]


def test_the_embedded_engine_restarts_with_new_code(tmp_path: Path) -> None:
    with up(tmp_path, "--app", "versions:old") as server:
        begun = Letter(server, tmp_path / "begun")
        begun.until_read()
        assert server.stop(signal.SIGTERM) == 0
    with up(tmp_path, "--app", "versions:new") as server:
        begun.on(server).go_on()
        fresh = Letter(server, tmp_path / "fresh")
        fresh.go_on()
        assert fresh.result() == ["read", "translate", "answer", "by 2"]
        status = begun.status()
        assert (status["status"], status["waitingFor"]["name"]) == ("QUEUED", "version 1 of letter")
        shown = stagepost("show", begun.id, "--url", server.url).out
        assert "waits for a worker that serves version 1 of letter; none is alive" in shown
        assert re.search(r"queue position +1\n", shown)
        assert re.search(r"estimate +about \d+ s of work after that", shown)
        assert server.stop(signal.SIGTERM) == 0
    with up(tmp_path, "--app", "versions:both") as server:
        assert begun.on(server).result() == ["read", "answer", "by 2 as 1"]
    assert begun.ran() == ["read", "answer"]
