"""`stagepost lanes`, `types` and `tenants` against a real server."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cli.serving import Server
from stagepost.cli import run


@pytest.fixture
def cli(asked: Server, capsys: pytest.CaptureFixture[str]) -> Iterator["Cli"]:
    yield Cli(capsys)
    for words in (("lanes", "limit", "batch", "none"), ("lanes", "resume", "batch"),
                  ("types", "limit", "say", "none"), ("types", "resume", "say")):  # fmt: skip
        assert run(words) == 0


class Cli:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: str, code: int = 0) -> str:
        self._capsys.readouterr()
        assert run(words) == code
        out, self.err = self._capsys.readouterr()
        return out

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "--json"))


def test_a_lane_is_paused_limited_and_resumed(cli: Cli) -> None:
    assert cli("lanes", "pause", "batch") == "batch: paused, at once: any number\n"
    rows = {line.split()[0]: line for line in cli("lanes").splitlines()}
    assert rows["batch"].rstrip().endswith("paused")
    assert cli.json("lanes", "limit", "batch", "3") == {
        "name": "batch", "paused": True, "concurrency": 3, "weight": None,
    }  # fmt: skip
    assert "paused, at most 3 at once" in cli("lanes")
    assert cli("lanes", "resume", "batch") == "batch: at once: 3\n"
    assert cli("lanes", "weigh", "batch", "4") == "batch: weight 4, at once: 3\n"
    shown = {lane["name"]: lane["weight"] for lane in cli.json("lanes")["items"]}
    assert shown == {"interactive": 8, "batch": 4}
    assert cli("lanes", "weigh", "batch", "none") == "batch: at once: 3\n"


def test_a_type_is_paused_limited_and_resumed(cli: Cli) -> None:
    cli("types", "pause", "say")
    cli("types", "limit", "say", "2")
    found = {rule["name"]: rule for rule in cli.json("types")["items"]}
    assert (found["say"]["paused"], found["say"]["concurrency"]) == (True, 2)
    row = next(line for line in cli("types").splitlines() if line.startswith("say"))
    assert row.split() == ["say", "interactive", "2", "paused"]
    assert cli.json("types", "resume", "say")["paused"] is False


def test_a_tenant_keeps_what_is_not_set_anew(cli: Cli) -> None:
    cli("tenants", "set", "cli-tenant", "--weight", "3")
    rule = cli.json("tenants", "set", "cli-tenant", "--concurrency", "5", "--key-concurrency", "2")
    assert rule == {
        "tenant": "cli-tenant", "weight": 3, "concurrency": 5, "keyConcurrency": 2,
    }  # fmt: skip
    assert "cli-tenant" in cli("tenants")
    cli("tenants", "set", "cli-tenant", "--weight", "1", "--concurrency", "none",
        "--key-concurrency", "1")  # fmt: skip
    assert cli.json("tenants")["items"] == []


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("lanes", "pause", "nowhere"), 4, "there are: interactive, batch"),
        (("types", "pause", "nothing"), 4, "there are:"),
        (("lanes", "limit", "batch", "many"), 2, "a number up to"),
        (("lanes", "weigh", "batch", "many"), 2, "a number up to"),
        (("lanes", "weigh", "batch", "0"), 4, "greater than or equal to 1"),
        (("tenants", "set", "acme"), 2, "Say what to set"),
        (("tenants", "set", "acme", "--weight", "0"), 2, "weight"),
    ],
)
def test_refusals(cli: Cli, words: tuple[str, ...], code: int, told: str) -> None:
    cli(*words, code=code)
    assert told in cli.err


def test_a_task_is_submitted_with_a_concurrency_key(cli: Cli) -> None:
    words = ("submit", "say", "--input", '{"word": "x"}', "--concurrency-key", "k", "--watch")
    assert cli.json(*words)["status"] == "COMPLETED"
