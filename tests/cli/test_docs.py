"""docs/cli.md and docs/settings.md say what the code says."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from stagepost import App, Retry
from stagepost.addresses import server_url
from stagepost.cli import app, run
from stagepost.cli.exits import Exit
from stagepost.environment import from_environment, names, unknown_names
from stagepost.limit import Limit
from stagepost.settings import Keep, Limits, Settings

DOCS = Path(__file__).parents[2] / "docs"


def commands(command: Any, path: tuple[str, ...] = ("stagepost",)) -> Iterator[tuple[str, Any]]:
    if len(path) > 1:
        yield " ".join(path), command
    for name, inner in getattr(command, "commands", {}).items():
        if name != "dev":
            yield from commands(inner, (*path, name))


GROUPS = {"stagepost audit", "stagepost keys", "stagepost schedules"}
"""They do nothing by themselves."""

ALL = dict(commands(get_command(app)))
SECTIONS = dict(
    re.findall(
        r"^### `(stagepost(?: [a-z-]+)+)[^`]*`\n(.*?)(?=^### |\Z)",
        (DOCS / "cli.md").read_text(),
        re.MULTILINE | re.DOTALL,
    )
)


def test_every_command_is_described_and_no_other() -> None:
    assert set(ALL) == {name for name in SECTIONS if not name.startswith("stagepost dev")}


@pytest.mark.parametrize("name", ALL)
def test_its_section_says_what_its_help_says(name: str) -> None:
    command, section = ALL[name], SECTIONS[name]
    assert command.help.strip() in section
    told = {"--url", "--json", "--help"}  # once for all commands, at the top
    for parameter in command.params:
        if told.isdisjoint(parameter.opts):
            word = parameter.metavar if parameter.param_type_name == "argument" else None
            word = word or parameter.opts[0]
            rows = [line for line in section.splitlines() if line.startswith(f"| `{word}")]
            assert [row.split(" | ")[1].removesuffix(" |") for row in rows] == [parameter.help]


def test_every_command_that_answers_can_answer_in_json() -> None:
    for name, command in ALL.items():
        flags = {flag for parameter in command.params for flag in parameter.opts}
        assert ("--json" in flags) is (name not in GROUPS), name


def test_the_help_and_the_page_say_the_same_of_exit_codes() -> None:
    page = re.findall(r"^\| (\d+) \| (.*) \|$", (DOCS / "cli.md").read_text(), re.MULTILINE)
    told = re.findall(r"^ *(\d+)  (\S.*)$", get_command(app).help or "", re.MULTILINE)
    assert told == [(code, text.replace("`", "")) for code, text in page]


def test_the_exit_codes_are_in_the_table() -> None:
    table = (DOCS / "cli.md").read_text()
    for code in Exit:
        assert f"\n| {code.value} | " in table


ROWS = {
    name: default.strip("` ")
    for name, default in re.findall(
        r"^\| `(STAGEPOST_[A-Z_]+)` \|([^|]*)\|", (DOCS / "settings.md").read_text(), re.MULTILINE
    )
}


def test_every_setting_is_in_the_table_and_no_other() -> None:
    assert set(ROWS) == set(names())


@pytest.mark.parametrize("name", ROWS)
def test_the_table_tells_the_default(name: str) -> None:
    said = {} if ROWS[name] == "" else {name: ROWS[name]}
    assert from_environment(said) == from_environment({}) == Settings()


def test_the_table_of_limits_is_read() -> None:
    changed = from_environment({"STAGEPOST_LIMIT_FILES": "3", "STAGEPOST_LIMIT_WAIT_MOST": "1.5"})
    assert changed.limits == Limits(files=3, wait_most=1.5)


def test_limits_that_are_shared_are_read() -> None:
    settings = from_environment({"STAGEPOST_LIMITS": "ocr/pages:100/1m+3, gpu:2"})
    assert settings.shared_limits == {
        "ocr/pages": Limit("ocr/pages", 100, 60, at_once=3),
        "gpu": Limit("gpu", at_once=2),
    }


def test_how_long_things_are_kept_is_read() -> None:
    changed = from_environment({"STAGEPOST_KEEP_TASKS_DAYS": "90"})
    assert changed.keep == Keep(tasks_days=90.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("STAGEPOST_PORT", "65536"),
        ("STAGEPOST_PORT", "http"),
        ("STAGEPOST_URL", "localhost:8080"),
        ("STAGEPOST_LOG", "xml"),
        ("STAGEPOST_LOG_LEVEL", "loud"),
        ("STAGEPOST_LIMIT_FILES", "0"),
        ("STAGEPOST_LIMIT_QUEUED_A_TENANT", "0"),
        ("STAGEPOST_LIMITS", "gpu"),
        ("STAGEPOST_LIMITS", "gpu:0"),
        ("STAGEPOST_LIMITS", "gpu:fast"),
        ("STAGEPOST_LIMITS", "gpu:1,gpu:2"),
        ("STAGEPOST_CONCURRENCY", "٣"),
        ("STAGEPOST_PROBE", "9090"),
        ("STAGEPOST_KEEP_TASKS_DAYS", "0"),
        ("STAGEPOST_KEEP_EVENTS_DAYS", "a week"),
        ("STAGEPOST_PROBE", "127.0.0.1:65536"),
    ],
)
def test_a_value_that_is_not_understood_is_one_sentence(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refused:
        from_environment({name: value})
    assert value in str(refused.value)


def test_a_name_that_nobody_reads_is_found() -> None:
    given = {"STAGEPOST_PROT": "1", "STAGEPOST_PORT": "1", "PATH": "x"}
    assert unknown_names(given) == ("STAGEPOST_PROT",)


def test_a_servers_address_has_no_slash_at_its_end() -> None:
    assert server_url("http://[::1]:8080/") == "http://[::1]:8080"
    for wrong in ("", "x", "http://", "http://a:0", "http://a:b", "file:///etc"):
        with pytest.raises(ValueError, match="write http://host:port"):
            server_url(wrong)


def test_a_shell_is_told_how_to_forget_the_services() -> None:
    text = (DOCS / "dev-services.md").read_text()
    told = next(line for line in text.splitlines() if line.startswith("unset "))
    assert set(told.split()[1:]) == {
        f"STAGEPOST_{name}" for name in ("STORE", "BROKER", "BUS", "LIMITER", "BLOBS")
    }
    assert "No engine of this version works on Redis" in text


@pytest.mark.parametrize("name", ["", *(name.removeprefix("stagepost ") for name in ALL)])
def test_the_help_fits_eighty_columns_and_breaks_no_word(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    assert run([*name.split(), "--help"]) == 0
    out = capsys.readouterr().out
    assert "]...]" not in out
    assert "list[read" not in out
    assert all(len(line) <= 80 for line in out.splitlines())
    if not name:
        for code in Exit:
            assert re.search(rf"^ +{code.value}  \w", out, re.MULTILINE), code
        assert " 70  up, api, worker" in out


def test_the_help_of_up_says_the_defaults() -> None:
    told = {parameter.name: parameter.help for parameter in ALL["stagepost up"].params}
    plain = Settings()
    for name in ("data", "host", "port", "concurrency"):
        assert f"else STAGEPOST_{name.upper()}, else {getattr(plain, name)}" in told[name]
    [role] = [each for each in ALL["stagepost keys create"].params if each.name == "role"]
    assert "Without it: submit." in role.help


def test_what_handlers_take_is_told_with_its_default() -> None:
    page = (DOCS / "handlers.md").read_text()
    told = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", page, re.MULTILINE))
    parameters = inspect.signature(App.task).parameters
    assert set(told) == {name for name in parameters if name not in {"self", "type"}}
    retry = ", ".join(
        f'{each.name}="{each.default}"'
        if isinstance(each.default, str)
        else f"{each.name}={each.default:g}"
        for each in fields(Retry)
    )
    assert told.pop("retry") == f"Retry({retry})"
    for name, default in told.items():
        assert default.strip('"') == str(parameters[name].default)


def test_secrets_are_not_shown_with_the_settings() -> None:
    settings = from_environment(
        {
            "STAGEPOST_API_KEY": "sp_live_secret",
            "STAGEPOST_BOOTSTRAP_KEY": "sp_live_secret",
            "STAGEPOST_STORE": "postgresql://user:secret@host/database",
            "STAGEPOST_BUS": "postgresql://user:secret@host/database",
        }
    )
    assert "secret" not in repr(settings)
