"""The commands that ask a real server."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer

from cli.serving import Server, stagepost, until
from stagepost.cli import run


@pytest.fixture
def cli(asked: Server, capsys: pytest.CaptureFixture[str]) -> "Cli":
    return Cli(capsys)


class Cli:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: str, code: int = 0) -> str:
        self._capsys.readouterr()
        assert run(words) == code
        out, err = self._capsys.readouterr()
        self.err = err
        return out

    def json(self, *words: str, code: int = 0) -> Any:
        return json.loads(self(*words, "--json", code=code))

    def ended(self, word: str, *words: str) -> str:
        """A task of the type say that is over; its id."""
        given = json.dumps({"word": word})
        code = 0 if word not in {"no", "bug"} else 1
        status = self.json("submit", "say", "--input", given, "--watch", *words, code=code)
        task_id: str = status["taskId"]
        return task_id


def test_tasks_are_listed_newest_first_and_filtered(cli: Cli) -> None:
    first, second = cli.ended("a", "--tag", "mine"), cli.ended("b", "--tag", "mine")
    listed = cli.json("tasks", "--tag", "mine")
    assert [task["taskId"] for task in listed["items"]] == [second, first]
    assert cli.json("tasks", "--tag", "mine", "--status", "failed")["items"] == []
    assert cli.json("tasks", "--tag", "mine", "--type", "walk")["items"] == []
    out = cli("tasks", "--tag", "mine", "--status", "completed", "--lane", "interactive")
    lines = out.splitlines()
    assert lines[0].split()[:3] == ["ID", "TYPE", "STATUS"]
    assert [line.split()[0] for line in lines[1:]] == [second, first]


def test_pages_and_all(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [cli.ended(f"{n}", "--tag", "paged") for n in range(5)][::-1]
    page = cli.json("tasks", "--tag", "paged", "--limit", "2")
    assert [task["taskId"] for task in page["items"]] == ids[:2]
    cli("tasks", "--tag", "paged", "--limit", "2")
    assert f"--after {page['next']}" in cli.err
    rest = cli.json("tasks", "--tag", "paged", "--limit", "50", "--after", page["next"])
    assert [task["taskId"] for task in rest["items"]] == ids[2:]
    monkeypatch.setattr("stagepost.cli.listing._PAGE", 2)
    everything = cli.json("tasks", "--tag", "paged", "--all")
    assert [task["taskId"] for task in everything["items"]] == ids
    assert everything["next"] is None
    lines = cli("tasks", "--tag", "paged", "--all").splitlines()
    assert [line.split()[0] for line in lines] == ["ID", *ids]
    assert cli.json("tasks", "--tag", "nobody", "--all") == {"items": [], "next": None}


def test_show_tells_everything_and_saves_the_files(cli: Cli, letter: Path, tmp_path: Path) -> None:
    status = cli.json("submit", "read", str(letter), "--watch")
    task_id, folder = status["taskId"], tmp_path / "saved" / "here"
    out = cli("show", task_id, "--save", str(folder))
    for part in (task_id, "COMPLETED", "artifacts", "copy.txt", "result"):
        assert part in out
    assert sorted(path.name for path in folder.iterdir()) == ["copy.txt", "result.json"]
    assert json.loads((folder / "result.json").read_text()) == status["result"]
    assert (folder / "copy.txt").read_text() == "Dear Sir"
    whole = cli.json("show", task_id)
    assert whole["artifacts"][0]["mediaType"] == "text/plain"
    cli("show", task_id, "--save", str(letter), code=2)


def test_show_names_the_command_that_lists_what_a_task_has_started(cli: Cli, asked: Server) -> None:
    def named(task_id: str, *words: str) -> list[str]:
        line = re.search(r"^its tasks +(.*)$", cli("show", task_id, *words), re.MULTILINE)
        return line[1].split() if line else []

    def asks(word: str, *words: str) -> str:
        given = json.dumps({"word": word})
        task_id: str = cli.json("submit", "ask", "--input", given, *words)["taskId"]
        return task_id

    done, waits = asks("yes", "--watch"), asks("listen")
    cli("submit", "ask", "--input", '{"word": "no"}', "--watch", code=1)
    dead = cli.json("tasks", "--type", "ask", "--status", "DEAD_LETTER")["items"][0]["taskId"]
    until(lambda: cli.json("show", waits)["status"] == "WAITING", "its wait")
    until(lambda: "1 WAITING" in cli("batches", "show", waits), "the wait of what it has started")
    for task_id, status in ((done, "COMPLETED"), (dead, "DEAD_LETTER"), (waits, "WAITING")):
        program, *command = named(task_id)
        assert program == "stagepost"
        assert status in cli(*command)
    assert named(done, "--url", asked.url) == [*named(done), "--url", asked.url]
    cli("cancel", waits)
    assert named(waits) == ["stagepost", "batches", "show", waits]
    child = cli.json("batches", "show", done)["items"][0]["taskId"]
    assert not named(child)
    assert re.search(rf"^parent +{done}$", cli("show", child), re.MULTILINE)


def test_show_tells_of_steps_and_failures(cli: Cli, tmp_path: Path) -> None:
    given = json.dumps({"folder": str(tmp_path), "steps": 2})
    walked = cli.json("submit", "walk", "--input", given, "--watch")["taskId"]
    out = cli("show", walked)
    assert re.search(r"^step-0 ", out, re.MULTILINE)
    assert [step["name"] for step in cli.json("show", walked)["steps"]] == ["step-0", "step-1"]
    broken = cli.ended("bug")
    out = cli("show", broken)
    assert "failures" in out
    assert len(cli.json("show", broken)["failures"]) == 2


def test_a_waiting_task_says_what_for_and_can_be_cancelled(cli: Cli) -> None:
    accepted = cli.json("submit", "say", "--delay", "600")
    task_id = accepted["taskId"]
    assert "starts at 20" in cli("show", task_id)
    assert "is cancelled" in cli("cancel", task_id, "--reason", "not needed")
    assert cli.json("show", task_id)["status"] == "CANCELLED"
    assert "\ncancelled by local: not needed\n" in cli("watch", task_id, code=1)
    done = cli.ended("a")
    cli("cancel", done, code=4)
    assert cli.err.startswith("stagepost: ")


def test_dead_letters_are_listed_sent_back_and_given_up(cli: Cli) -> None:
    first, second = cli.ended("no", "--tag", "dead"), cli.ended("bug", "--tag", "dead")
    listed = cli.json("dead-letters", "--tag", "dead")
    assert [letter["taskId"] for letter in listed["items"]] == [second, first]
    assert "after a change" in cli("dead-letters", "--tag", "dead", "--kind", "INVALID_INPUT")
    groups = cli.json("dead-letters", "--group-by", "failureKind", "--tag", "dead")["items"]
    assert {each["failureKind"]: each["count"] for each in groups} == {"INVALID_INPUT": 1, "BUG": 1}
    assert "INVALID_INPUT" in cli("dead-letters", "--group-by", "failureKind", "--tag", "dead")
    for by, names in (("type", ["TYPE"]), ("type,failureKind", ["KIND", "TYPE"])):
        head = cli("dead-letters", "--group-by", by, "--tag", "dead").splitlines()[0]
        assert head.split() == [*names, "COUNT", "OLDEST", *["COST", "OF", "REDRIVING"]]
    dry = cli("dead-letters", "redrive", "--tag", "dead", "--dry-run")
    assert dry == "2 would be sent back\n"
    sent = cli("dead-letters", "redrive", first, "--input", '{"word": "yes"}')
    redrive_id = sent.split()[-1]
    assert sent == f"1 is sent back by redrive {redrive_id}\n"
    assert cli("watch", first).splitlines()[-2] == '"yes"'
    told = cli("dead-letters", "redrive-status", redrive_id)
    assert told.splitlines()[0] in {"running", "done"}
    assert told.splitlines()[1].startswith("1 matched, 1 sent, ")
    stopped = cli.json("dead-letters", "redrive-stop", redrive_id)
    assert (stopped["redriveId"], stopped["matched"], stopped["sent"]) == (redrive_id, 1, 1)
    assert cli.json("dead-letters", "discard", second, "--reason", "x")["matched"] == 1
    assert cli.json("show", second)["status"] == "CANCELLED"
    for words in (["redrive"], ["discard"], ["redrive", first, "--type", "say"]):
        cli("dead-letters", *words, code=2)
        assert "by their ids" in cli.err
    cli("dead-letters", "redrive", first, "--fresh", "--from-step", "x", code=2)


@pytest.mark.parametrize("words", [(), ("redrive",), ("discard",)])
def test_a_failure_kind_that_is_not_there_is_refused(cli: Cli, words: tuple[str, ...]) -> None:
    cli("dead-letters", *words, "--kind", "NOPE", code=2)
    assert 'There is no failure kind "NOPE"; there are: RATE_LIMIT, OVERLOADED' in cli.err
    cli("dead-letters", "--kind", "bug")


def test_a_paced_redrive_is_stopped(cli: Cli) -> None:
    for _ in range(2):
        cli.ended("bug", "--tag", "paced")
    words = ("--tag", "paced", "--per-minute", "1", "--canary", "2")
    redrive_id = cli.json("dead-letters", "redrive", *words)["redriveId"]
    told = cli("dead-letters", "redrive-stop", redrive_id)
    assert told.startswith("stopped: stopped by local\n2 matched, 1 sent, ")
    cli("dead-letters", "redrive-status", "nothing", code=4)


def test_many_are_cancelled_at_once(cli: Cli) -> None:
    ids = [cli.json("submit", "say", "--delay", "600", "--tag", "many")["taskId"] for _ in range(2)]
    assert cli.json("cancel", "--tag", "many", "--status", "queued") == {"matched": 0}
    assert cli("cancel", "--tag", "many", "--reason", "x") == "2 to be cancelled\n"
    assert [cli.json("show", task_id)["status"] for task_id in ids] == ["CANCELLED"] * 2
    for words in ([], [ids[0], "--tag", "many"]):
        cli("cancel", *words, code=2)
        assert "by its id" in cli.err


def test_a_task_is_erased(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    task_id = cli.ended("a")
    cli("erase", task_id, code=2)
    assert "say --yes" in cli.err
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("typer.confirm", _refuse)
    cli("erase", task_id, code=1)
    assert cli.json("show", task_id)["status"] == "COMPLETED"
    assert f"task {task_id} was erased by local at 20" in cli("erase", task_id, "--yes")
    assert cli.json("erase", task_id, "--yes")["hashes"]["input"]
    cli("show", task_id, code=4)
    assert "was erased on" in cli.err


def _refuse(*_: object, **__: object) -> None:
    raise typer.Abort


def test_lanes_and_workers(cli: Cli) -> None:
    assert {lane["name"] for lane in cli.json("lanes")["items"]} == {"interactive", "batch"}
    rows = [line.split()[:4] for line in cli("lanes").splitlines()]
    weights = {lane["name"]: lane["weight"] for lane in cli.json("lanes")["items"]}
    assert rows[0] == ["LANE", "QUEUED", "RUNNING", "WEIGHT"]
    assert ["interactive", "0", "0", str(weights["interactive"])] in rows
    worker = cli.json("workers")["items"][0]
    assert worker["state"] == "running"
    assert worker["id"] in cli("workers")


def test_keys_of_the_local_mode(cli: Cli) -> None:
    made = cli.json("keys", "create", "robot", "--role", "operate", "--user", "r2")
    assert made["key"].startswith("sp_live_")
    listed = cli.json("keys", "list")["items"]
    assert [key["name"] for key in listed] == ["robot"]
    assert "r2" in cli("keys", "list")
    assert cli.json("keys", "revoke", made["keyId"])["revoked"] is True
    assert cli.json("keys", "list")["items"] == []
    assert cli("keys", "create", "x").startswith("sp_live_")


def test_who_cancelled_and_why_is_told_everywhere(cli: Cli) -> None:
    task_id = cli.json("submit", "say", "--delay", "600", "--tag", "cancelled")["taskId"]
    assert "starts at 20" in cli("tasks", "--tag", "cancelled")
    assert "starts at 20" in cli("show", task_id)
    cli("cancel", task_id, "--reason", "no longer needed")
    assert "cancelled by local: no longer needed" in cli("watch", task_id, code=1)
    assert re.search(r"cancelled +by local: no longer needed", cli("show", task_id))
    assert cli.json("show", task_id)["cancelled"]["reason"] == "no longer needed"
    lines = cli("events", task_id).splitlines()
    assert lines[0].split() == ["SEQ", "TIME", "EVENT"]
    assert re.search(r"cancelled +by local, reason no longer needed", lines[-1])
    items = cli.json("events", task_id)["items"]
    assert [each["event"] for each in items][-1] == "cancelled"


def test_a_discard_says_why(cli: Cli) -> None:
    task_id = cli.ended("no")
    cli("dead-letters", "discard", task_id, "--reason", "was a test")
    assert "cancelled by local: was a test" in cli("watch", task_id, code=1)
    assert "by local: was a test" in cli("show", task_id)


def test_an_empty_list_is_a_sentence(cli: Cli) -> None:
    for words, none in (
        (("tasks", "--tag", "nobody"), "No tasks.\n"),
        (("tasks", "--tag", "nobody", "--all"), "No tasks.\n"),
        (("dead-letters", "--tag", "nobody"), "No dead letters.\n"),
        (("dead-letters", "--tag", "nobody", "--group-by", "type"), "No dead letters.\n"),
        (("keys", "list", "--tenant", "nobody"), "No keys.\n"),
    ):
        assert cli(*words) == ""
        assert cli.err == none


def test_keys_of_another_tenant(cli: Cli) -> None:
    made = cli.json("keys", "create", "first", "--role", "admin", "--tenant", "ärzte")
    assert [key["tenant"] for key in cli.json("keys", "list", "--tenant", "ärzte")["items"]] == [
        "ärzte"
    ]
    assert made["keyId"] not in cli("keys", "list")
    assert "ärzte" in cli("keys", "list", "--tenant", "ärzte")
    cli("keys", "create", "second", "--tenant", "ärzte")
    assert "tenant ärzte" in cli.err
    cli("keys", "create", "third")
    assert "tenant local" in cli.err
    cli("keys", "revoke", made["keyId"], code=4)
    cli("keys", "revoke", made["keyId"], "--tenant", "ärzte")
    cli("keys", "create", "x", "--tenant", "", code=2)


def test_nothing_that_a_terminal_obeys_is_printed(cli: Cli) -> None:
    task_id = cli.ended("\x1b[31mred\x9b2J [bold]not markup[/bold]")
    out = cli("show", task_id) + cli("tasks") + cli("watch", task_id)
    assert "\x1b" not in out
    assert "\x9b" not in out
    assert "[bold]not markup[/bold]" in out


def test_the_version_and_the_help(asked: Server) -> None:
    ran = stagepost("--version", env={"STAGEPOST_URL": asked.url})
    assert re.fullmatch(r"stagepost \d+\.\d+\.\d+\n", ran.out)
    ran = stagepost()
    assert ran.code == 2
    assert "Usage: stagepost" in ran.out
    assert ran.err == ""


def test_a_lease_that_is_too_short_for_postgresql_is_refused(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAGEPOST_LEASE", "4.9")
    monkeypatch.setenv("STAGEPOST_HEARTBEAT", "1")
    cli("tasks")
    monkeypatch.setenv("STAGEPOST_STORE", "postgresql://127.0.0.1:9/nothing")
    cli("tasks", code=2)
    assert re.fullmatch(
        r"stagepost: STAGEPOST_LEASE is 4\.9; on PostgreSQL it is at least 5 [^\n]+\n", cli.err
    )


def test_a_wrong_setting_is_one_line(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAGEPOST_LEASE", "soon")
    cli("tasks", code=2)
    assert re.fullmatch(r"stagepost: STAGEPOST_LEASE is 'soon'[^\n]+\n", cli.err)


def test_a_signal_lets_a_task_go_on(cli: Cli) -> None:
    task_id = cli.json("submit", "listen", "--input", "{}")["taskId"]
    sent = cli.json("signal", task_id, "go", '{"word": "on"}')
    assert (sent["taskId"], sent["name"]) == (task_id, "go")
    cli("watch", task_id)
    assert cli.json("show", task_id)["result"] == {"word": "on"}
    assert "is told" not in cli("signal", task_id, "go", code=4)
    assert "takes no signals any more" in cli.err
    cli("signal", task_id, "go", "on", code=2)
    assert "is no JSON" in cli.err


def test_limits_are_set_shown_and_removed(cli: Cli) -> None:
    told = cli("limits", "set", "ocr/pages", "100/1m+2", "--burst", "5")
    assert told == "limit ocr/pages: 100 in 60 s and 2 at once, 5 of them in a burst\n"
    assert "100 in 60 s and 2 at once" in cli("limits")
    (limit,) = cli.json("limits")["items"]
    assert (limit["name"], limit["units"], limit["burst"]) == ("ocr/pages", 100, 5)
    cli("limits", "set", "x", "fast", code=2)
    assert "write 100/1m" in cli.err
    assert cli.json("limits", "remove", "ocr/pages")["removed"]
    cli("limits", "remove", "ocr/pages", code=4)
    assert "ocr/pages" in cli.err
    cli("limits")
    assert cli.err == "No limits.\n"
