"""`stagepost init`: what it makes must run as printed."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cli.serving import LONGEST, environment, stagepost, up
from stagepost.cli import run


def test_the_app_runs_as_the_readme_says(tmp_path: Path) -> None:
    made = stagepost("init", "my-app", cwd=tmp_path)
    assert made.code == 0, made.err
    folder = tmp_path / "my-app"
    lines = [line.strip() for line in (folder / "README.md").read_text().splitlines()]
    serving, submitting, testing = [
        line for line in lines if line.startswith(("stagepost", "python"))
    ]
    tested = subprocess.run(
        [sys.executable, *shlex.split(testing)[1:]],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert tested.returncode == 0, tested.stderr
    assert "Ran 2 tests" in tested.stderr
    with up(tmp_path / "server", *shlex.split(serving)[2:], cwd=folder) as server:
        ran = stagepost(*shlex.split(submitting)[1:], env={"STAGEPOST_URL": server.url})
    assert ran.code == 0, ran.out + ran.err
    assert "paragraph 2 of 2" in ran.out
    assert '"words": 8' in ran.out


def test_what_is_printed_is_what_the_readme_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["init", "shop"]) == 0
    out = capsys.readouterr().out
    readme = Path("shop/README.md").read_text()
    for command in ("stagepost up --app app:app", "python -m unittest"):
        assert command in out
        assert command in readme
    assert "# shop" in readme


def test_nothing_is_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["init", "shop", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == ["README.md", "app.py", "test_app.py"]
    assert run(["init", "shop"]) == 2
    assert "is there already" in capsys.readouterr().err
    assert run(["init", "a b"]) == 2
