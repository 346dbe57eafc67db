"""`stagepost quotas` against a real server."""

import json

import httpx
import pytest

from cli.serving import LONGEST, Server
from stagepost.cli import run
from stagepost.cli.exits import Exit


def submit_for_acme(asked: Server) -> int:
    url, headers = f"{asked.url}/api/v1/tasks/say", {"X-Tenant-Id": "acme"}
    return httpx.post(url, json={}, headers=headers, timeout=LONGEST).status_code


def test_quotas_are_set_shown_and_unset(asked: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["quotas", "acme"]) == 0
    assert capsys.readouterr().out == "tenant acme: any may wait (the default), 0 do\n"
    assert run(["quotas", "acme", "--max-queued", "0"]) == 0
    assert capsys.readouterr().out == "tenant acme: 0 may wait, 0 do\n"
    assert submit_for_acme(asked) == 429
    assert run(["quotas", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown == {"items": [{"tenant": "acme", "maxQueued": 0}], "next": None}
    assert run(["quotas", "acme", "--max-queued", "any", "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert whole == {"tenant": "acme", "maxQueued": None, "own": True, "waiting": 0}
    assert run(["quotas"]) == 0
    assert capsys.readouterr().out.split() == ["TENANT", "MAY", "WAIT", "acme", "any"]
    assert run(["quotas", "acme", "--default"]) == 0
    assert "(the default)" in capsys.readouterr().out
    assert submit_for_acme(asked) == 202
    assert run(["quotas"]) == 0
    assert capsys.readouterr().err == "No tenant has quotas of its own.\n"


@pytest.mark.parametrize(
    "given",
    [
        ["--max-queued", "5"],
        ["--default"],
        ["acme", "--max-queued", "5", "--default"],
        ["acme", "--max-queued", "-1"],
        ["acme", "--max-queued", "many"],
    ],
)
def test_what_makes_no_sense_is_a_usage(
    asked: Server, given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["quotas", *given]) == Exit.USAGE
    assert len(capsys.readouterr().err.splitlines()) == 1
