"""What stands in the book of a limit: who waits, what is held, which calls are not settled."""

from typing import NamedTuple, Self

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

    def shifted(self, by: int) -> Self:
        """The same after the clock was set."""
        return self._replace(
            since=self.since + by,
            counts_from=self.counts_from + by,
            counts_until=self.counts_until + by,
            expires=self.expires + by,
        )


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
