"""`stagepost budgets` against a real server."""

import json

import pytest

from cli.serving import Server
from stagepost.cli import run
from stagepost.cli.exits import Exit


def test_budgets_are_set_shown_and_unset(asked: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked.url
    assert run(["budgets", "acme"]) == 0
    assert capsys.readouterr().out == "tenant acme may spend any (the default)\n"
    assert run(["budgets", "acme", "--spend", "20/day", "--spend", "300/month"]) == 0
    assert capsys.readouterr().out == "tenant acme may spend $20/day and $300/month\n"
    assert run(["budgets", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    item = {"tenant": "acme", "budgets": ["20/day", "300/month"]}
    assert shown == {"items": [item], "next": None}
    assert run(["budgets", "acme", "--spend", "any", "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert whole == {"tenant": "acme", "budgets": [], "own": True}
    assert run(["budgets", "acme", "--default"]) == 0
    assert "(the default)" in capsys.readouterr().out
    assert run(["budgets"]) == 0
    assert capsys.readouterr().err == "No tenant has budgets of its own.\n"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (["--spend", "5/day"], Exit.USAGE),
        (["--default"], Exit.USAGE),
        (["acme", "--spend", "5/day", "--default"], Exit.USAGE),
        (["acme", "--spend", "many"], Exit.REFUSED),
    ],
)
def test_what_makes_no_sense_is_told(asked: Server, given: list[str], code: Exit) -> None:
    assert asked.url
    assert run(["budgets", *given]) == code
