"""What a provider answered instead of an answer, in whatever shape it came."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

_DEPTH: Final = 8
_MOST_TEXT: Final = 4_000  # characters of a message that are looked at and kept


@dataclass(frozen=True)
class Said:
    """A status, headers, and a body that is parsed JSON, text or nothing.

    `status` is None for an error that came in the middle of a stream.
    """

    status: int | None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None

    @cached_property
    def _headers(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers.items()}

    def header(self, name: str) -> str | None:
        """A header, whatever the case of its name."""
        return self._headers.get(name)

    @cached_property
    def error(self) -> Mapping[str, Any]:
        """The object that tells the error, wherever the body has it; empty if it has none."""
        body = self.body
        if isinstance(body, list) and body:
            body = body[0]  # Gemini wraps it in a list where it speaks OpenAI's language
        if not isinstance(body, Mapping):
            return {}
        inner = body.get("error")
        if isinstance(inner, Mapping):
            return inner
        return {**body, "message": inner} if isinstance(inner, str) else body

    @cached_property
    def codes(self) -> frozenset[str]:
        """The words by which the error is named: its codes, type and status, also inner ones."""
        found = set()
        for mapping in _mappings(self.error, _DEPTH):
            for name in ("code", "type", "status", "reason"):
                value = mapping.get(name)
                if isinstance(value, str):
                    found.add(value)
        return frozenset(found)

    @cached_property
    def message(self) -> str:
        """What it says to people, cut; the whole body where that is text."""
        if isinstance(self.body, str):
            return self.body[:_MOST_TEXT]
        for name in ("message", "detail", "msg"):
            value = self.error.get(name)
            if isinstance(value, str):
                return value[:_MOST_TEXT]
        return ""

    def values(self, name: str) -> list[str]:
        """The texts under a name, anywhere in the error: `quotaId`, `retryDelay`."""
        found = (mapping.get(name) for mapping in _mappings(self.error, _DEPTH))
        return [value for value in found if isinstance(value, str)]


def _mappings(value: Any, depth: int) -> Iterator[Mapping[str, Any]]:
    if depth == 0:
        return
    if isinstance(value, Mapping):
        yield value
        for inner in value.values():
            yield from _mappings(inner, depth - 1)
    elif isinstance(value, list):
        for inner in value[:100]:
            yield from _mappings(inner, depth - 1)
