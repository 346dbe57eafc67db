"""What a provider tells of its limits with each answer.

OpenAI, Azure and most others have `x-ratelimit-limit-requests`, `-remaining-` and `-reset-`, the
same of tokens; Anthropic has `anthropic-ratelimit-requests-limit`, of tokens, and of input and
output tokens apart. Numbers are units of a minute. A limit whose reset is further away is one of a
day (Groq tells such for requests): of that only what is left is of use.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from stagepost.llm.said import Said
from stagepost.llm.waits import reset_wait

_MINUTE: Final = 90.0  # seconds; clocks and rounding may make a minute a little longer
_MOST_DIGITS: Final = 15


class What(StrEnum):
    """What is limited."""

    REQUESTS = "requests"
    TOKENS = "tokens"
    INPUT = "input-tokens"
    OUTPUT = "output-tokens"


class Told(NamedTuple):
    """Units of a minute, what is left of them, and in how many seconds it is whole again."""

    most: int | None = None
    left: int | None = None
    whole_in: float | None = None


_NAMES: Final = (
    *(
        (what, f"x-ratelimit-limit-{what}", f"x-ratelimit-remaining-{what}",
         f"x-ratelimit-reset-{what}")
        for what in (What.REQUESTS, What.TOKENS)
    ),
    *(
        (what, f"anthropic-ratelimit-{what}-limit", f"anthropic-ratelimit-{what}-remaining",
         f"anthropic-ratelimit-{what}-reset")
        for what in What
    ),
)  # fmt: skip


def told_of(said: Said, now: datetime) -> Mapping[What, Told]:
    """What the headers tell of each limit; one that they don't tell of is left out.

    `now` is needed for resets that are told as instants, and has a time zone. What is no number, or
    below 0 as Azure tells where it does not know, is not told.
    """
    found: dict[What, Told] = {}
    for what, limit, remaining, reset in _NAMES:
        most, left = _number(said.header(limit)), _number(said.header(remaining))
        whole_in = reset_wait(said.header(reset), now)
        if whole_in is not None and whole_in > _MINUTE:
            most = None
        if most == 0:
            most = None
        if most is not None or left is not None:
            found[what] = Told(most, left, whole_in)
    return found


def _number(text: str | None) -> int | None:
    digits = (text or "").strip()
    if not (digits.isascii() and digits.isdigit()) or len(digits) > _MOST_DIGITS:
        return None
    return int(digits)
