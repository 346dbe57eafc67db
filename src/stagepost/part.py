"""Which parts of the engine a process runs."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final


class Part(StrEnum):
    """A part; `maintenance` is the loops that act for all: scheduler, planner, rescuer."""

    API = "api"
    WORKER = "worker"
    MAINTENANCE = "maintenance"


EVERYTHING: Final = frozenset(Part)
"""What one process alone needs."""


def written(parts: Iterable[Part]) -> str:
    """Parts as text for a command line."""
    return ",".join(sorted(parts))


def parsed(text: str) -> frozenset[Part]:
    """What `written` wrote. Raises ValueError."""
    return frozenset(Part(word) for word in text.split(","))
