"""Crashes around one call of a store."""

from dataclasses import dataclass
from enum import StrEnum


class When(StrEnum):
    """Before the call has come to the store, after it was done but not heard of, or in between."""

    BEFORE = "before"
    AFTER = "after"
    AMID = "amid"


VERBS = (
    "advance", "beat", "begin", "cancel", "checkpoint", "claim", "discard", "erase", "expire",
    "free", "listen", "progress", "prune", "prune events", "redrive", "register", "release",
    "rescue", "send", "settle", "sleep", "spawn", "stop", "submit",
)  # fmt: skip
"""The calls around which crashes come."""


@dataclass(frozen=True)
class Fault:
    """A crash around a call of this verb, of which `passed` others come before.

    It comes `seconds` after the call has begun, if it comes in between.
    """

    verb: str
    when: When
    seconds: float = 0.0
    passed: int = 0
