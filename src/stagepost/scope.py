"""The identity of a step: its path within the task.

A path is the enclosing step or map item, then the name, then the key or, from the second unkeyed
one of that name on, its number within that scope:

    parse            the first step "parse" of the handler
    parse#2          the second one, one after the other
    parse:annex      with key="annex"
    analyse[3]       the item with index 3 (or that key) of a map
    analyse[3]/cite  a step inside that item

The scope travels with the code by a context variable, so a step inside a step nests by itself.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from stagepost.errors import AmbiguousStep
from stagepost.flight import Flight

NAME_LIMIT: Final = 100
KEY_LIMIT: Final = 200
_RESERVED: Final = str.maketrans({mark: f"%{ord(mark):02X}" for mark in "%/:#[]"})


class Scope:
    """Where a step stands: its prefix, its flight, and the names used in it so far."""

    __slots__ = ("_live", "_used", "flight", "name", "path", "permits")

    def __init__(self, path: str = "", name: str = "", flight: Flight | None = None) -> None:
        self.path = path
        self.name = name
        self.flight = flight
        # Made when they are needed: many handlers have no steps, and most steps none inside.
        self._used: dict[str, int] | None = None
        self._live: set[str] | None = None
        self.permits: list[Any] = []
        """What is let go of when the step ends: permits, which know their scope."""

    @contextmanager
    def enter(self, name: str, key: str | None) -> Iterator[str]:
        """The path of a step that starts here; the name is in use until it ends.

        Raises AmbiguousStep, and ValueError for a name or key that can't be one.
        """
        _check(name, key)
        base = f"{self.path}/{escape(name)}" if self.path else escape(name)
        mark = base if key is None else f"{base}:{escape(key)}"
        if self._live is None:
            self._live = set()
        elif mark in self._live:
            raise AmbiguousStep(_twice(name, key))
        self._live.add(mark)
        try:
            yield mark if key is not None else self._numbered(base)
        finally:
            self._live.discard(mark)

    def number(self, mark: str) -> str:
        """The identity of something here that is no step: the mark, and which one of its kind."""
        return self._numbered(f"{self.path}/:{mark}")

    def count(self, mark: str) -> int:
        """How often this mark was counted here before."""
        if self._used is None:
            self._used = {}
        # As in `number`: a mark that no step's name can be.
        base = f"{self.path}/:{mark}"
        self._used[base] = number = self._used.get(base, 0) + 1
        return number - 1

    def _numbered(self, base: str) -> str:
        if self._used is None:
            self._used = {}
        self._used[base] = number = self._used.get(base, 0) + 1
        return base if number == 1 else f"{base}#{number}"


CURRENT: Final[ContextVar[Scope]] = ContextVar("stagepost_scope")
"""The scope of the code that runs now."""


def _twice(name: str, key: str | None) -> str:
    if key is None:
        return f'Two steps "{name}" run at the same time in one scope; give each a key=.'
    return f'Two steps "{name}" with the key "{key}" run at the same time in one scope.'


def escape(text: str) -> str:
    """A name or key without the marks that structure a path."""
    return text.translate(_RESERVED)


def _check(name: str, key: str | None) -> None:
    if not name or len(name) > NAME_LIMIT or not name.isprintable():
        raise ValueError(f"A step's name has 1 to {NAME_LIMIT} printable characters.")
    if key is not None and (not key or len(key) > KEY_LIMIT or not key.isprintable()):
        raise ValueError(f"A step's key has 1 to {KEY_LIMIT} printable characters.")
