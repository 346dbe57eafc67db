"""One line of a diagnosis."""

from dataclasses import dataclass
from enum import IntEnum


class Level(IntEnum):
    """How bad it is."""

    OK = 0
    WARN = 1
    FAIL = 2

    @property
    def word(self) -> str:
        """As it is printed."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, what was seen, and how to mend it."""

    check: str
    level: Level
    detail: str
    remedy: str = ""


def ok(check: str, detail: str) -> Finding:
    """All is well."""
    return Finding(check, Level.OK, detail)


def warn(check: str, detail: str, remedy: str) -> Finding:
    """It works, but not as it should."""
    return Finding(check, Level.WARN, detail, remedy)


def fail(check: str, detail: str, remedy: str) -> Finding:
    """It does not work."""
    return Finding(check, Level.FAIL, detail, remedy)
