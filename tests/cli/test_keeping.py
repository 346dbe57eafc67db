"""What the engine's loops have begun is ended by the next process, when they are killed amid it."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from cli.serving import LONGEST, Server, until, up

MANY = 60


@pytest.mark.timeout(180)
def test_a_redrive_goes_on_after_a_kill_and_sends_no_task_twice(tmp_path: Path) -> None:
    given = json.dumps({"folder": str(tmp_path)})
    with up(tmp_path / "up", "--app", "rig:app") as server:
        ids = [post(server, "/api/v1/tasks/mend", given)["taskId"] for _ in range(MANY)]
        until(lambda: dead(server) == MANY, "the deaths")
        (tmp_path / "mended").touch()
        body = json.dumps({"filter": {"type": "mend"}, "canary": 2, "perMinute": 1_200})
        begun = post(server, "/api/v1/dead-letters/redrive", body)
        assert begun["matched"] == MANY

        def told() -> dict[str, Any]:
            found: dict[str, Any] = server.get(f"/api/v1/redrives/{begun['redriveId']}").json()
            return found

        for share in (3, 2):
            until(lambda share=share: told()["sent"] > MANY // share, "a part of the redrive")
            lives = len(server.serving)
            os.kill(server.child, signal.SIGKILL)
            until(lambda lives=lives: len(server.serving) > lives, "the next process")
            until(lambda: answers(server), "the next answer")
        until(lambda: told()["state"] == "done", "the end of the redrive")
        end = told()
        assert (end["sent"], end["completed"], end["failed"]) == (MANY, MANY, 0)
        for task_id in ids:
            events = server.get(f"/api/v1/tasks/{task_id}/events").json()["items"]
            kinds = [event["event"] for event in events]
            assert (kinds.count("redriven"), kinds[-1]) == (1, "completed")


def post(server: Server, path: str, body: str) -> Any:
    headers = {"content-type": "application/json"}
    answer = httpx.post(server.url + path, content=body, headers=headers, timeout=LONGEST)
    assert answer.is_success, answer.text
    return answer.json()


def dead(server: Server) -> int:
    groups = server.get("/api/v1/dead-letters?groupBy=type").json()["items"]
    return sum(group["count"] for group in groups)


def answers(server: Server) -> bool:
    try:
        return server.get("/healthz").is_success
    except httpx.TransportError:
        return False
