"""The how-to on changing handlers: its examples run, and say what is so."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from stagepost import App
from stagepost.cli.waits import waiting_text

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "change-handlers.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    module, tests = blocks("python")
    (tmp_path / "my_module.py").write_text(module)
    (tmp_path / "test_page.py").write_text(tests)
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\nasyncio_mode = "auto"\n')
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_the_sentence_is_what_show_prints() -> None:
    told = waiting_text({"kind": "worker", "name": "version 1 of answer-words", "until": None})
    assert told in blocks("console")[0]


def test_the_limits_are_as_told() -> None:
    async def handler(ctx: object, request: int) -> None: ...

    App().task("answer-words", version=50, accepts=range(1, 33))(handler)
    with pytest.raises(ValueError, match="32"):
        App().task("answer-words", version=50, accepts=range(1, 34))(handler)
