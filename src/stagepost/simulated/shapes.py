"""How a provider's language writes answers, errors, streams and limits: what both have."""

import math
from collections.abc import Mapping
from email.utils import formatdate
from typing import Any, Literal, NamedTuple, Protocol

from stagepost.simulated.answers import Answer
from stagepost.simulated.denial import Denial
from stagepost.simulated.quota import Quota

RetryAfter = Literal["both", "seconds", "ms", "date", "none"]
"""How a wait is told: in both headers, in one of them, as a date, or not at all."""


class Told(NamedTuple):
    """What an answer says of itself: its id, the second it was made in, model and tokens."""

    id: str
    made: int
    model: str
    input_tokens: int
    output_tokens: int


class Shapes(Protocol):
    """One provider's language. `None` for usage leaves it out."""

    @property
    def keep_alive(self) -> bytes:
        """What says nothing in a stream."""
        ...

    def whole(self, told: Told, answer: Answer, *, usage: bool) -> Mapping[str, Any]:
        """An answer in one piece."""
        ...

    def opening(self, told: Told, answer: Answer) -> bytes:
        """The begin of a stream."""
        ...

    def piece(self, told: Told, text: str) -> bytes:
        """Some of the text."""
        ...

    def closing(self, told: Told, answer: Answer, *, usage: bool) -> bytes:
        """The end of a stream, with what is no text; its finish may be missing."""
        ...

    def error(self, denial: Denial) -> Any:
        """The body of a refusal."""
        ...

    def limits(self, quota: Quota, now: float, wall: float) -> Mapping[str, str]:
        """The headers that tell what is left; `wall` is the time now in seconds since 1970."""
        ...


def wait_headers(wait: float | None, form: RetryAfter, wall: float) -> Mapping[str, str]:
    """The headers that ask for a wait of so many seconds."""
    if wait is None or not math.isfinite(wait) or form == "none":
        return {}
    found = {}
    if form in {"both", "ms"}:
        found["retry-after-ms"] = f"{math.ceil(wait * 1000)}"
    if form in {"both", "seconds"}:
        found["retry-after"] = f"{math.ceil(wait)}"
    if form == "date":
        found["retry-after"] = formatdate(math.ceil(wall + wait), usegmt=True)
    return found
