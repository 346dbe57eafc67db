"""`stagepost submit` and `watch` against a real server."""

import json
import os
import pty
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from cli.serving import LONGEST, STAGEPOST, Server, environment, stagepost, until
from stagepost.cli import run

_ID = r"[0-9a-f]{8}-[0-9a-f-]{27}"


def test_a_submit_says_how_to_watch(asked: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["submit", "say", "--input", '{"word": "hi"}']) == 0
    out, err = capsys.readouterr()
    assert re.fullmatch(rf"task ({_ID}) \((queued|pending)\)\nwatch it: stagepost watch \1\n", out)
    assert err == ""


def test_as_json_it_prints_what_the_server_answered(
    asked: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["submit", "say", "--json", "--tag", "a", "--tag", "b", "--lane", "batch"]) == 0
    accepted = json.loads(capsys.readouterr().out)
    assert accepted["lane"] == "batch"
    whole = asked.get(f"/api/v1/tasks/{accepted['taskId']}").json()
    assert whole["tags"] == ["a", "b"]


def test_a_second_submit_with_a_unique_key_is_the_first(
    asked: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    found = []
    for word in ("first", "last"):
        given = ["--input", json.dumps({"word": word}), "--unique-key", "k", "--debounce", "3600"]
        assert run(["submit", "say", "--json", *given]) == 0
        found.append(json.loads(capsys.readouterr().out)["taskId"])
    assert found[0] == found[1]
    assert asked.get(f"/api/v1/tasks/{found[0]}").json()["input"]["word"] == "last"
    assert run(["submit", "say", "--debounce", "5"]) == 4
    assert "needs a uniqueKey" in capsys.readouterr().err


def test_watching_without_a_terminal_prints_a_line_for_each_change(
    asked: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = json.dumps({"folder": str(tmp_path), "steps": 3})
    assert run(["submit", "walk", "--watch", "--input", given]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(rf"task {_ID} \(walk\)", lines[0])
    shown = [line for line in lines if re.match(r"\d\d:\d\d +\d+% ", line)]
    assert shown == sorted(set(shown), key=shown.index), "a line came twice"
    assert shown[-1].endswith("100% completed")
    assert any(line.startswith("completed in ") for line in lines)
    assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize(
    ("word", "code", "told"),
    [
        ("yes", 0, '"yes"'),
        ("no", 1, "failed: The word is no. (INVALID_INPUT)"),
        ("bug", 1, "(BUG)"),
    ],
)
def test_the_exit_code_says_how_a_task_ended(
    asked: Server, capsys: pytest.CaptureFixture[str], word: str, code: int, told: str
) -> None:
    assert run(["submit", "say", "--watch", "--input", json.dumps({"word": word})]) == code
    assert told in capsys.readouterr().out


def test_watched_as_json_it_prints_one_document(
    asked: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["submit", "say", "--watch", "--json", "--input", '{"word": "no"}']) == 1
    status = json.loads(capsys.readouterr().out)
    assert (status["status"], status["failureKind"]) == ("DEAD_LETTER", "INVALID_INPUT")


def test_a_task_that_is_over_can_still_be_watched(
    asked: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["submit", "say", "--watch", "--json", "--input", '{"word": "hi"}'])
    task_id = json.loads(capsys.readouterr().out)["taskId"]
    assert run(["watch", task_id]) == 0
    assert '"hi"' in capsys.readouterr().out


def test_a_file_goes_to_the_types_file_field_and_input_beside_it(
    asked: Server, letter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["submit", "read", str(letter), "--input", '{"note": "urgent"}', "--watch", "--json"]
    assert run(words) == 0
    result = json.loads(capsys.readouterr().out)["result"]
    assert result == {"name": "letter.txt", "note": "urgent", "text": "Dear Sir"}


def test_files_fill_the_fields_in_their_order_or_by_name(
    asked: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = tmp_path / "old.txt", tmp_path / "new=1.txt"
    old.write_text("old")
    new.write_text("new")
    for words in ([str(old), str(new)], [f"after={new}", str(old)]):
        assert run(["submit", "compare", *words, "--watch", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["result"] == ["old.txt", "new=1.txt"]
    assert run(["submit", "collect", str(old), str(new), "--watch", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"] == ["old.txt", "new=1.txt"]
    assert run(["submit", "compare", str(old), str(new), str(old)]) == 2
    assert "There is no field left for" in capsys.readouterr().err


def test_input_comes_from_a_file_or_stdin(asked: Server, tmp_path: Path) -> None:
    named = {"STAGEPOST_URL": asked.url}
    given = tmp_path / "input.json"
    given.write_text('{"word": "from a file"}')
    ran = stagepost("submit", "say", "--input", f"@{given}", "--watch", env=named)
    assert (ran.code, ran.err) == (0, "")
    assert "from a file" in ran.out
    ran = stagepost(
        "submit", "say", "--input", "-", "--watch", stdin='{"word": "from stdin"}', env=named
    )
    assert "from stdin" in ran.out


def test_one_idempotency_key_makes_one_task(
    asked: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["submit", "say", "--input", '{"word": "x"}', "--json", "--idempotency-key", "same"]
    ids = set()
    for _ in range(2):
        assert run(words) == 0
        ids.add(json.loads(capsys.readouterr().out)["taskId"])
    assert len(ids) == 1
    words[3] = '{"word": "other"}'
    assert run(words) == 4


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["submit", "say", "--input", "{"], 2, "no JSON"),
        (["submit", "say", "--input", "@missing.json"], 2, "missing.json"),
        (["submit", "read", "missing.pdf"], 2, "There is no file missing.pdf."),
        (["submit", "read", "."], 2, "is a folder"),
        (["submit", "nothing"], 4, 'There is no task type "nothing"'),
        (["submit", "walk"], 4, "folder: "),
        (["submit", "say", "--lane", "nowhere"], 4, "there are: interactive, batch"),
        (["submit", "say", "--run-at", "tomorrow"], 2, "which is no instant"),
        (["submit", "say", "--delay", "-1"], 2, "--delay"),
        (["submit"], 2, "stagepost submit --help"),
        (["watch", "01890000-0000-7000-8000-000000000000"], 4, ""),
        (["watch", "../../healthz"], 4, ""),
        (["submit", "say", "--url", "ftp://x"], 2, "http://host:port"),
    ],
)
def test_a_refusal_is_one_line_on_stderr(
    asked: Server, capsys: pytest.CaptureFixture[str], words: list[str], code: int, told: str
) -> None:
    assert run(words) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"stagepost: [^\n]+\n", err)
    assert told in err


def test_without_a_server_the_code_is_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["submit", "say", "--url", "http://127.0.0.1:9"]) == 3
    assert "stagepost up" in capsys.readouterr().err


def test_ctrl_c_leaves_the_task_and_says_how_to_go_on(asked: Server, tmp_path: Path) -> None:
    given = json.dumps({"folder": str(tmp_path), "gate": 1})
    words = [STAGEPOST, "submit", "walk", "--watch", "--input", given, "--url", asked.url]
    watching = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )
    assert watching.stdout is not None
    task_id = watching.stdout.readline().split()[1]
    until((tmp_path / "waiting").exists, "the gate")
    while "step 1" not in watching.stdout.readline():
        pass
    watching.send_signal(signal.SIGINT)
    _, err = watching.communicate(timeout=LONGEST)
    assert watching.returncode == 130
    assert err == (
        "stagepost: The task goes on; watch it again with: "
        f"stagepost watch {task_id} --url {asked.url}\n"
    )
    (tmp_path / "gate").touch()
    assert stagepost("watch", task_id, "--url", asked.url).code == 0


def test_a_reader_that_goes_away_is_no_traceback(asked: Server, tmp_path: Path) -> None:
    given = json.dumps({"folder": str(tmp_path), "gate": 1})
    words = [STAGEPOST, "submit", "walk", "--watch", "--input", given, "--url", asked.url]
    watching = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )
    assert watching.stdout is not None
    assert watching.stderr is not None
    until((tmp_path / "waiting").exists, "the gate")
    watching.stdout.close()
    (tmp_path / "gate").touch()
    assert watching.stderr.read() == b""
    watching.stderr.close()
    assert watching.wait(LONGEST) == 1


def on_a_terminal(*words: str, **more: str) -> str:
    """What a person sees on a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [STAGEPOST, *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(TERM="xterm", **more),
    )
    os.close(theirs)
    seen = b""
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        try:
            seen += os.read(ours, 65_536)
        except OSError:  # the other end is closed
            break
    os.close(ours)
    assert process.wait(LONGEST) == 0
    return seen.decode()


def test_on_a_terminal_there_is_a_live_bar(asked: Server, tmp_path: Path) -> None:
    given = json.dumps({"folder": str(tmp_path)})
    words = ["submit", "walk", "--watch", "--input", given, "--url", asked.url]
    seen = on_a_terminal(*words, COLUMNS="120")
    assert "━" in seen
    assert "100%" in seen
    assert "completed in" in seen


def test_on_a_terminal_long_output_is_paged_and_short_is_not(asked: Server) -> None:
    pager = {"PAGER": "sed s/^/paged:/", "COLUMNS": "120"}
    assert "paged:ID" in on_a_terminal("tasks", "--all", "--url", asked.url, LINES="3", **pager)
    assert "paged:" not in on_a_terminal("lanes", "--url", asked.url, LINES="50", **pager)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("submit", "say", "--run-at", "tomorrow"),
            '--run-at is "tomorrow", which is no instant; ',
        ),
        (("submit", "say", "--deadline", "2026-01-31"), '--deadline is "2026-01-31", which is no '),
        (("tasks", "--created-after", "x"), '--created-after is "x", which is no instant; write '),
        (
            ("schedules", "create", "a", "say", "--overlap", "foo"),
            "Invalid value for '--overlap': 'foo' is not one of 'skip', 'queue', 'cancelOld'.",
        ),
        (("tasks", "--foo"), "No such option: --foo. See stagepost tasks --help."),
    ],
)
def test_a_wrong_option_is_told_in_the_words_of_the_command_line(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], sentence: str
) -> None:
    assert run(words) == 2
    err = capsys.readouterr().err
    assert sentence in err
    assert "%2B" not in err


def test_too_many_files_and_none(
    asked: Server, capsys: pytest.CaptureFixture[str], letter: Path
) -> None:
    assert run(["submit", "read", str(letter), str(letter)]) == 2
    assert "takes one file only (file); leave it out." in capsys.readouterr().err
    assert run(["submit", "read"]) == 4
    assert "on the command line name the FILE" in capsys.readouterr().err
    assert run(["submit", "say", str(letter)]) == 4
    assert "There is no such field; there are: word" in capsys.readouterr().err
    assert run(["submit", "say", "--json"]) == 0
    task_id = json.loads(capsys.readouterr().out)["taskId"]
    assert run(["dead-letters", "redrive", task_id]) == 4
    assert "`stagepost dead-letters`" in capsys.readouterr().err


def test_a_bug_points_whoever_runs_the_server_to_its_cause(
    asked: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["submit", "say", "--watch", "--input", '{"word": "bug"}']) == 1
    out = capsys.readouterr().out
    assert re.search(rf"whoever runs the server .*: stagepost show {_ID}", out)
    assert "Traceback" not in out
