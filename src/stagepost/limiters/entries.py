"""What stands in the book of a limit: who waits, what is held, which calls are not settled."""

from typing import NamedTuple

Mark = tuple[int, str]
"""Where a reservation stands in line: when it first came, and its id."""


class Ticket(NamedTuple):
    """A place in line. It keeps room free from `counts_from` to `counts_until`.

    `away` is who was told to come back later, and was not called since.
    """

    since: int
    units: int
    counts_from: int
    counts_until: int
    expires: int
    away: bool = False


class Hold(NamedTuple):
    """Units that are held at once."""

    units: int
    holder: str
    since: int


class Open(NamedTuple):
    """Units of a call that is not settled, and when they went out: in which period of a budget."""

    units: int
    holder: str
    since: int
    period: int = 0
