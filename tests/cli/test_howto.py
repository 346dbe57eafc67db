"""docs/postgresql.md: its commands do what it says."""

import re
import shlex
from contextlib import ExitStack
from pathlib import Path

import httpx

from cli.serving import LONGEST, serving, stagepost
from support.postgres import Server as PostgresServer

PAGE = (Path(__file__).parents[2] / "docs" / "postgresql.md").read_text()


def test_from_a_database_to_two_workers_and_one_api(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    blocks = re.findall(r"^```\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    api, worker, asking = ([shlex.split(line) for line in block.splitlines()] for block in blocks)
    env = {
        "STAGEPOST_STORE": postgres_server.url_of("howto"),
        "STAGEPOST_BLOBS": (tmp_path / "blobs").as_uri(),
        "STAGEPOST_LEASE": "15",  # as unset; other servers of these tests have a quicker one
    }
    app = tmp_path / "my-app"
    assert stagepost("init", str(app)).code == 0
    with ExitStack() as processes:
        started = []
        for number, command in enumerate([api[1], worker[1], worker[1]]):
            free = ["--port", "0"] if command[1] == "api" else []
            process = serving(tmp_path / f"{number}", *command[1:], *free, cwd=app, **env)
            started.append(processes.enter_context(process))
        url = started[0].url
        assert httpx.get(f"{url}/readyz", timeout=LONGEST).json()["status"] == "ok"
        for command in asking:
            ran = stagepost(*command[1:], cwd=app, env={**env, "STAGEPOST_URL": url})
            assert ran.code == 0, ran.out + ran.err
            if command[1] == "submit":
                assert "completed" in ran.out
            if command[1] == "workers":
                assert ran.out.count("running") == 2
