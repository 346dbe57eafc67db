"""Every Python example of the documentation runs as it stands."""

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from stagepost import App
from stagepost.outcome import Succeeded
from stagepost.testing import always_replay

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
HOW_TO = sorted((ROOT / "docs" / "how-to").glob("*.md"))


def examples(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


WITH_TESTS_IN_IT = {"change-handlers.md"}  # run by test_change_handlers_page
PROGRAMS = [page.name for page in HOW_TO if examples(page) and page.name not in WITH_TESTS_IN_IT]


def test_only_these_pages_have_examples() -> None:
    with_some = {page.name for page in PAGES if examples(page)}
    assert with_some == {"README.md", "handlers.md", "simulated-provider.md", "testing.md"}


def run(source: str, name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    module = ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)
    exec(compile(source, name, "exec"), module.__dict__)
    return module


@pytest.mark.parametrize("page", PROGRAMS)
def test_the_programs_of_a_how_to_print_what_they_say(page: str, tmp_path: Path) -> None:
    for source in examples(ROOT / "docs" / "how-to" / page):
        program = tmp_path / "program.py"
        program.write_text(source)
        done = subprocess.run(
            [sys.executable, program],
            check=False,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        said = re.findall(r"^print\(.*\)  # (.*)$", source, re.MULTILINE)
        assert done.stdout.splitlines() == said


@pytest.mark.parametrize("page", ["README.md", "docs/handlers.md"])
async def test_a_letter_is_answered(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = examples(ROOT / page)[0]
    module = run(source, "docs_example", monkeypatch)
    assert isinstance(module.app, App)
    done = await always_replay(
        module.app, "answer-letter", {"file": "a.txt"}, uploads={"a.txt": b"Dear Sir or Madam"}
    )
    assert isinstance(done.outcome, Succeeded), done.error
    assert done.result["text"]


async def test_a_book_is_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    (source,) = examples(ROOT / "docs" / "how-to" / "children.md")
    module = run(source, "docs_children", monkeypatch)
    book = {"pages": ["one two", "", "three"]}
    done = await always_replay(module.app, "weigh-book", book)
    assert done.result == {"first": 2, "words": 3, "failed": 1}
    caught = await always_replay(module.app, "careful", {"text": ""})
    assert caught.result == "not counted: INVALID_INPUT"


def test_the_tests_of_the_page_about_tests_pass(tmp_path: Path) -> None:
    (tmp_path / "my_module.py").write_text(examples(ROOT / "docs" / "handlers.md")[0])
    tests = examples(ROOT / "docs" / "testing.md")
    for number, source in enumerate(tests):
        (tmp_path / f"test_{number}.py").write_text(source)
    settings = '[tool.pytest.ini_options]\nasyncio_mode = "auto"\n'
    assert 'asyncio_mode = "auto"' in (ROOT / "docs" / "testing.md").read_text()
    (tmp_path / "pyproject.toml").write_text(settings)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
