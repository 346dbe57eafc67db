"""`stagepost batches` against a real server."""

import json
import re
from pathlib import Path

import pytest

from cli.serving import Server
from stagepost.cli import run
from stagepost.cli.exits import Exit


def words_file(folder: Path, *words: str) -> str:
    path = folder / "words.jsonl"
    path.write_text("".join(json.dumps({"word": word}) + "\n\n" for word in words))
    return str(path)


def test_a_batch_is_submitted_watched_and_shown(
    asked: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = words_file(tmp_path, "a", "no", "c")
    assert run(["batches", "submit", "say", file, "--watch", "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert status["result"] == {"type": "say", "count": 3, "completed": 2, "failed": 1}
    assert run(["batches", "show", status["taskId"]]) == 0
    out = capsys.readouterr().out
    assert out.startswith("2 COMPLETED, 1 DEAD_LETTER\n")
    assert re.search(r'COMPLETED.*"a"', out)
    assert "INVALID_INPUT" in out
    assert run(["batches", "show", status["taskId"], "--json", "--all"]) == 0
    items = json.loads(capsys.readouterr().out)["items"]
    assert [item["index"] for item in items] == [0, 1, 2]
    assert run(["batches"]) == 0
    assert status["taskId"] in capsys.readouterr().out


def test_a_submit_says_how_to_watch_and_what_is_wrong(
    asked: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["batches", "submit", "say", words_file(tmp_path, "a", "b")]) == 0
    out = capsys.readouterr().out
    assert re.match(r"batch [0-9a-f-]{36} of 2 tasks \((queued|running)\)\n", out)
    assert "stagepost batches show " in out
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"word": "a"}\n{"wrod": "b"}\n')
    assert run(["batches", "submit", "say", str(bad)]) == 4
    err = capsys.readouterr().err
    assert err.startswith("stagepost: Line 2 is not valid: ")
    assert "wrod: There is no such field" in err
    assert "1.wrod" not in err
    assert run(["batches", "submit", "say", str(tmp_path / "nowhere")]) == 2
    assert "There is no file" in capsys.readouterr().err
    assert asked.get("/api/v1/batches/nothing").status_code == 404


def test_a_batch_that_the_quota_refuses_is_told_why(
    asked: Server,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("stagepost.remote.transport._TRIES", 1)
    assert run(["quotas", "local", "--max-queued", "2"]) == 0
    before = asked.get("/api/v1/tasks?type=batch").json()["items"]
    capsys.readouterr()
    try:
        code = run(["batches", "submit", "say", words_file(tmp_path, "a", "b", "c")])
    finally:
        assert run(["quotas", "local", "--default"]) == 0
    assert code == Exit.NOT_REACHABLE
    assert capsys.readouterr().err == (
        f"stagepost: The server at {asked.url} can't do it now: The batch has 3 inputs, and its "
        "tenant may have 2 tasks that wait to start; send it in smaller batches.\n"
    )
    assert asked.get("/api/v1/tasks?type=batch").json()["items"] == before


def test_a_result_of_many_values_is_shown_on_one_line(
    asked: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "walks.jsonl"
    file.write_text(json.dumps({"folder": str(tmp_path), "steps": 2}))
    assert run(["batches", "submit", "walk", str(file), "--watch", "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert run(["batches", "show", status["taskId"]]) == 0
    assert re.search(r"COMPLETED.*\[0, 1\]", capsys.readouterr().out)
