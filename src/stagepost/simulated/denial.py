"""An answer that refuses, before it is written in one provider's language. Pure."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Denial:
    """Why not, by status and words.

    `kind` is OpenAI's `type` of error; other languages have theirs by the status. `body` is the
    whole body, for a provider that has one of its own. `wait` is what it asks for, in seconds that
    are really waited. `bare`: no header tells of limits or waits.
    """

    status: int
    message: str
    kind: str = "invalid_request_error"
    code: str | None = None
    param: str | None = None
    body: Any = None
    wait: float | None = None
    bare: bool = False
