"""When a schedule runs: by a cron expression in a time zone, at an interval, or once. Pure.

Instants are milliseconds since 1970-01-01 UTC. A timing's *planned instants* are the same however
often, and from wherever, they are asked for.

Where the clocks of a zone change, a cron expression is of one of two kinds, as in Debian's cron.
One with `*` at the beginning of its minute or its hour goes by the time that passes: hourly is 25
times in a day of 25 hours, and 23 times in one of 23. Any other names times of the day: one that
comes twice is taken once, the first time, and one that does not come at all is moved to the first
instant after the gap.
"""

import re
from collections.abc import Generator, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Final, Protocol
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

EARLIEST: Final = 946_684_800_000
"""2000-01-01. Before it the zones of the world are too wild to be planned by."""
LATEST: Final = 4_102_444_800_000
"""2100-01-01, where every timing ends."""

MINUTE: Final = 60_000
_DAY: Final = 86_400  # seconds
_LONGEST_CRON: Final = 200  # characters
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001  # what a clock on a wall shows
_FIELDS: Final = re.compile(r"[A-Za-z0-9*/,#-]+")


class Timing(Protocol):
    """Planned instants in order."""

    @property
    def shortest(self) -> int:
        """Milliseconds that lie between two of them at least."""
        ...

    def instants(self, after: int) -> Iterator[int]:
        """Those behind an instant and before LATEST."""
        ...


class Once:
    """One instant."""

    shortest = MINUTE

    def __init__(self, at: int) -> None:
        self._at = at

    def instants(self, after: int) -> Iterator[int]:
        """The instant, if it is still to come."""
        if self._at > after:
            yield self._at


class Every:
    """Every so many seconds, counted from an anchor; no clock that is changed counts here."""

    def __init__(self, seconds: int, anchor: int) -> None:
        self.shortest = seconds * 1000
        self._anchor = anchor

    def instants(self, after: int) -> Iterator[int]:
        """Those behind an instant and before LATEST; the anchor may lie behind it too."""
        first = after - (after - self._anchor) % self.shortest + self.shortest
        yield from range(first, LATEST, self.shortest)


class Cron:
    """A cron expression of five fields (minute, hour, day, month, weekday) in a time zone.

    As Debian's cron has it, with names (MON, JAN), steps, `5#2` (the second Friday), `5L` (the last
    one), `L` and `LW` (a month's last day and working day). Raises ValueError with the remedy.
    """

    shortest = MINUTE

    def __init__(self, text: str, zone: str = "UTC") -> None:
        fields = text.split()
        self._zone = zone_of(zone)
        self._text = " ".join(fields)
        self._passes = any(field.startswith("*") for field in fields[:2])
        if len(text) > _LONGEST_CRON or len(fields) != 5:
            raise ValueError(_FIVE.format(text[:64]))
        if not all(map(_FIELDS.fullmatch, fields)):
            raise ValueError(_WRONG.format(text, "it has a character that has no meaning there"))
        try:
            CronSim(self._text, _EPOCH)
        except CronSimError as error:
            # The library says "Bad minute".
            reason = str(error).lower().replace("bad ", "look at the ")
            raise ValueError(_WRONG.format(text, reason)) from error

    def instants(self, after: int) -> Iterator[int]:
        """Those behind an instant and before LATEST; after 50 years without one it gives up."""
        seconds = self._passing if self._passes else self._named
        for second in seconds(after // 1000):
            if second * 1000 >= LATEST:
                return
            yield second * 1000

    def _named(self, after: int) -> Iterator[int]:
        """Times of the day: their instants rise as they do, and two that are one come once."""
        last = after
        for wall in self._walls(self._wall(after)):
            second = self._first(wall)
            if second > last:
                last = second
                yield second

    def _first(self, wall: datetime) -> int:
        """The first instant at which a wall shows this time, or has passed over it."""
        second = self._second(wall, fold=0)
        if self._wall(second) == wall:
            return second
        # In a gap the offset behind it leads before the gap, and the one before it behind.
        return self._change(self._second(wall, fold=1), second)

    def _passing(self, after: int) -> Iterator[int]:
        """What the walls show as time passes, one stretch between two changes after the other."""
        start: int | None = after + 1
        while start is not None:
            start = yield from self._stretch(start)

    def _stretch(self, start: int) -> Generator[int, None, int | None]:
        offset = self._offset(start)
        seen = start
        for wall in self._walls(_EPOCH + timedelta(seconds=start + offset - 1)):
            second = round((wall - _EPOCH).total_seconds()) - offset
            change = self._first_change(seen, second)
            if change is not None:
                return change
            seen = second
            yield second
        return None

    def _walls(self, behind: datetime) -> Iterator[datetime]:
        return CronSim(self._text, behind)

    def _wall(self, second: int) -> datetime:
        return datetime.fromtimestamp(second, self._zone).replace(tzinfo=None, fold=0)

    def _second(self, wall: datetime, fold: int) -> int:
        return round(wall.replace(tzinfo=self._zone, fold=fold).timestamp())

    def _offset(self, second: int) -> int:
        offset = datetime.fromtimestamp(second, self._zone).utcoffset()
        assert offset is not None
        return round(offset.total_seconds())

    def _first_change(self, start: int, end: int) -> int | None:
        """When the clocks are changed after `start`, up to `end`; no zone does it twice a day."""
        offset = self._offset(start)
        while start < end:
            following = min(start + _DAY, end)
            if self._offset(following) != offset:
                return self._change(start, following)
            start = following
        return None

    def _change(self, before: int, behind: int) -> int:
        offset = self._offset(before)
        while behind - before > 1:
            middle = (before + behind) // 2
            if self._offset(middle) == offset:
                before = middle
            else:
                behind = middle
        return behind


@cache
def _zones() -> frozenset[str]:
    return frozenset(files("tzdata").joinpath("zones").read_text(encoding="utf-8").split())


def zone_of(name: str) -> ZoneInfo:
    """A time zone by its IANA name. Raises ValueError."""
    if name not in _zones():
        raise ValueError(
            f'There is no time zone "{name[:64]}"; use an IANA name such as Europe/Berlin or UTC.'
        )
    return ZoneInfo(name)


def utc(instant: int) -> datetime:
    """An instant as a datetime."""
    return datetime.fromtimestamp(instant / 1000, UTC)


_FIVE: Final = (
    '"{}" is no cron expression: it has five fields, minute hour day month weekday, such as '
    "30 2 * * MON-FRI."
)
_WRONG: Final = '"{}" is no cron expression: {}.'
