"""docs/how-to/recipes.md: its snippets stand in the examples, and its commands do what it says."""

import re
import shlex
from pathlib import Path

import pytest

from cli.serving import Ran, Server, stagepost, up

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "recipes.md").read_text()
RECIPES = sorted(
    path.stem
    for path in (ROOT / "examples").glob("*.py")
    if path.stem not in {"__init__", "outside"}
)
FENCES = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SNIPPETS = [text for language, text in FENCES if language == "py"]
COMMANDS = [text for language, text in FENCES if not language]
SUBMITTED = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def test_each_recipe_has_its_snippet_and_its_commands_and_a_line_in_the_list() -> None:
    sources = {name: (ROOT / "examples" / f"{name}.py").read_text() for name in RECIPES}
    shown = [name for text in SNIPPETS for name in RECIPES if text in sources[name]]
    assert shown == ["chain", "group", "chord", "pipeline", "approval", "saga"]
    assert sorted(shown) == RECIPES
    assert len(SNIPPETS) == len(RECIPES)
    assert [
        name for text in COMMANDS for name in RECIPES if f"examples.{name}:app" in text
    ] == shown
    listed = (ROOT / "examples" / "README.md").read_text()
    assert all(f"[{name}.py]({name}.py)" in listed for name in RECIPES)


@pytest.mark.parametrize("block", COMMANDS, ids=[block.splitlines()[0] for block in COMMANDS])
def test_its_commands_run(block: str, tmp_path: Path) -> None:
    start, *rest = [shlex.split(line) for line in block.splitlines()]
    env = {"PYTHONPATH": str(ROOT)}
    while "=" in start[0]:
        name, _, value = start.pop(0).partition("=")
        env[name] = value
    assert start[:2] == ["stagepost", "up"]
    with up(tmp_path / "server", *start[2:], cwd=tmp_path, **env) as server:
        task_id = ""
        for command in rest:
            words = [task_id if word == "ID" else word for word in command[1:]]
            ran = run(server, words)
            found = SUBMITTED.search(ran.out + ran.err)
            if words[0] == "submit" and found:
                task_id = found[0]
        answer = server.get(f"/api/v1/tasks/{task_id}/status?wait=20").json()
        assert answer["status"] == "COMPLETED"


def run(server: Server, words: list[str]) -> Ran:
    ran = stagepost(*words, env={"STAGEPOST_URL": server.url})
    assert ran.code == 0, ran.out + ran.err
    return ran
