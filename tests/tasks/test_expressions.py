"""What the regular expressions of the built-in tasks keep away from."""

import re
from pathlib import Path

import pytest

import stagepost.tasks

SOURCES = sorted(Path(stagepost.tasks.__path__[0]).rglob("*.py"))
POSSESSIVE_GROUP = re.compile(r"(?<!\\)\)(?:[*+?]|\{\{?\d*,?\d*\}\}?)\+")


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_no_group_is_repeated_possessively(source: Path) -> None:
    """Python before 3.11.5 matches `(?:ab|c)*+` wrongly (cpython issue 106052): `(?>(?:ab|c)*)`."""
    assert not POSSESSIVE_GROUP.search(source.read_text())


@pytest.mark.parametrize("text", ["(?:a){0,3}+", "(?:a)*+", "(?:a){{0,3}}+", "(?:(?>a)b)?+"])
def test_and_would_be_found(text: str) -> None:
    assert POSSESSIVE_GROUP.search(text)
