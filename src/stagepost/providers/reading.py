"""Reads JSON of which nothing is certain: what is missing or of another type is empty. Pure."""

from collections.abc import Mapping
from typing import Any, Final

_MOST_ITEMS: Final = 10_000


def text(value: Any, name: str) -> str:
    """The text under a name; the texts of its parts where it is a list of parts."""
    found = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(found, list):
        return "".join(text(part, "text") for part in found[:_MOST_ITEMS])
    return found if isinstance(found, str) else ""


def count(value: Any, *path: str) -> int | None:
    """The number of tokens at the end of a path; None where none is told."""
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if type(value) is int and value >= 0 else None


def inner(value: Any, name: str) -> Mapping[str, Any]:
    """The object under a name."""
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def items(value: Any, name: str) -> list[Mapping[str, Any]]:
    """The objects of the list under a name."""
    found = value.get(name) if isinstance(value, Mapping) else None
    listed = found[:_MOST_ITEMS] if isinstance(found, list) else []
    return [item for item in listed if isinstance(item, Mapping)]
