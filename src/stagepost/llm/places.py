"""Where in a TOML text something stands. The parser of the standard library does not tell."""

import re
from collections.abc import Sequence
from typing import Final

_PART: Final = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")
_PARTS: Final = rf"(?:{_PART.pattern})(?:\s*\.\s*(?:{_PART.pattern}))*"
_TABLE: Final = re.compile(rf"\s*\[\s*({_PARTS})\s*\]\s*(?:#.*)?$")
_KEY: Final = re.compile(rf"\s*({_PARTS})\s*=")


def place_of(text: str, path: Sequence[str]) -> int:
    """The number of the line that is nearest to a path of keys: its own, or that of its table."""
    best, line = 0, 1
    table: list[str] = []
    for number, content in enumerate(text.splitlines(), 1):
        header, key = _TABLE.match(content), _KEY.match(content)
        if header is not None:
            table = _parts(header[1])
            here = table
        elif key is not None:
            here = [*table, *_parts(key[1])]
        else:
            continue
        depth = _common(here, path)
        if depth > best and depth in {len(here), len(path)}:
            best, line = depth, number
    return line


def _parts(text: str) -> list[str]:
    return [part.strip("\"'") for part in _PART.findall(text)]


def _common(here: Sequence[str], path: Sequence[str]) -> int:
    depth = 0
    for one, other in zip(here, path, strict=False):
        if one != other:
            break
        depth += 1
    return depth
