"""When schedules run, held against a walk through every minute of the world's clocks."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from stagepost.timing import MINUTE, Cron, Every, Once, utc

HOUR = 60 * MINUTE


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def between(cron: str, zone: str, start: str, end: str) -> list[str]:
    """The instants from `start` on and before `end`, as the zone's clocks show them."""
    last = ms(end)
    found = takewhile(lambda instant: instant < last, Cron(cron, zone).instants(ms(start) - 1))
    return [utc(instant).astimezone(ZoneInfo(zone)).isoformat() for instant in found]


DAY_OF_25_HOURS = ("US/Pacific", "2026-11-01T00:00-07:00", "2026-11-02T00:00-08:00")
DAY_OF_23_HOURS = ("US/Pacific", "2026-03-08T00:00-08:00", "2026-03-09T00:00-07:00")


def test_hourly_is_as_many_times_as_the_day_has_hours() -> None:
    assert len(between("0 * * * *", *DAY_OF_25_HOURS)) == 25
    assert len(between("0 * * * *", *DAY_OF_23_HOURS)) == 23
    assert len(between("*/15 * * * *", *DAY_OF_25_HOURS)) == 100


def test_a_time_that_comes_twice_is_taken_once() -> None:
    assert between("30 1 * * *", *DAY_OF_25_HOURS) == ["2026-11-01T01:30:00-07:00"]


def test_a_time_in_a_gap_is_the_first_instant_behind_it() -> None:
    assert between("30 2 * * *", *DAY_OF_23_HOURS) == ["2026-03-08T03:00:00-07:00"]


def test_times_that_fall_together_are_one() -> None:
    assert between("0,15,30 2,3 * * *", *DAY_OF_23_HOURS) == [
        "2026-03-08T03:00:00-07:00",
        "2026-03-08T03:15:00-07:00",
        "2026-03-08T03:30:00-07:00",
    ]


def test_a_day_that_a_zone_leaves_out_is_made_up_behind_it() -> None:
    """Samoa went from the 29th of December 2011 to the 31st."""
    place = ("Pacific/Apia", "2011-12-29T12:00-10:00", "2012-01-01T00:00+14:00")
    assert between("0 9 30 12 *", *place) == ["2011-12-31T00:00:00+14:00"]


@pytest.mark.parametrize("asked", ["2026-11-01T01:45-07:00", "2026-11-01T01:15-08:00"])
def test_asked_between_the_two_it_is_the_next_days(asked: str) -> None:
    found = between("30 1 * * *", "US/Pacific", asked, "2026-11-03T00:00-08:00")
    assert found == ["2026-11-02T01:30:00-08:00"]


def test_an_interval_counts_from_its_anchor() -> None:
    every = Every(90, anchor=1_000)
    assert list(islice(every.instants(1_000), 3)) == [91_000, 181_000, 271_000]
    assert next(every.instants(90_999)) == 91_000
    assert next(every.instants(-200_000)) == -179_000


def test_once_is_once() -> None:
    assert list(Once(5).instants(4)) == [5]
    assert list(Once(5).instants(5)) == []


def test_every_timing_ends_with_the_century() -> None:
    late = ms("2099-12-31T22:00+00:00")
    assert len(list(Cron("0 * * * *").instants(late))) == 1
    assert len(list(Cron("0 0 * * *").instants(late))) == 0
    assert len(list(Every(3600, anchor=0).instants(late))) == 1


@pytest.mark.parametrize(
    ("cron", "zone", "says"),
    [
        ("* * * * * *", "UTC", "has five fields"),
        ("30 2 * *", "UTC", "has five fields"),
        ("@daily", "UTC", "has five fields"),
        ("60 * * * *", "UTC", "look at the minute"),
        ("0 24 * * *", "UTC", "look at the hour"),
        ("0 0 30 2 *", "UTC", "look at the day-of-month"),
        ("0 0 * * 1²", "UTC", "has no meaning there"),
        ("*/0 * * * *", "UTC", "look at the minute"),
        (", ".join("0" * 80) + " * * * *", "UTC", "five fields"),
        ("0 0 * * *", "Mars/Olympus", "There is no time zone"),
        ("0 0 * * *", "../../etc/passwd", "There is no time zone"),
        ("0 0 * * *", "localtime", "There is no time zone"),
        ("0 0 * * *", "", "There is no time zone"),
    ],
)
def test_what_is_no_timing_is_refused_in_one_sentence(cron: str, zone: str, says: str) -> None:
    with pytest.raises(ValueError, match=says) as refused:
        Cron(cron, zone)
    assert "\n" not in str(refused.value)


@given(st.text(alphabet="0123456789*/,-#LWMONJAN ²x", max_size=40))
def test_any_text_is_understood_or_refused(text: str) -> None:
    try:
        found = list(islice(Cron(text, "US/Pacific").instants(ms("2026-10-31T00:00+00:00")), 3))
    except ValueError:
        return
    assert found == sorted(set(found))


# The oracle: it looks at every minute, and knows of zones only what their clocks show.


class Field:
    """A part of an expression: its text, and which numbers it takes."""

    def __init__(self, text: str, taken: set[int]) -> None:
        self.text, self.taken = text, taken


def field(low: int, high: int) -> st.SearchStrategy[Field]:
    numbers = st.sets(st.integers(low, high), min_size=1, max_size=3)
    named = numbers.map(lambda taken: Field(",".join(map(str, sorted(taken))), taken))
    steps = st.integers(1, 20).map(
        lambda step: Field(f"*/{step}", set(range(low, high + 1)[::step]))
    )
    bounds = st.tuples(st.integers(low, high), st.integers(low, high)).map(sorted)
    ranges = bounds.map(lambda b: Field(f"{b[0]}-{b[1]}", set(range(b[0], b[1] + 1))))
    every = st.just(Field("*", set(range(low, high + 1))))
    # Often any, so that most expressions have instants in the days that are looked at.
    return st.one_of(every, every, named, steps, ranges)


def matches(fields: list[Field], wall: datetime) -> bool:
    minute, hour, day, month, weekday = fields
    by_day = wall.day in day.taken
    by_weekday = bool({wall.isoweekday(), wall.isoweekday() % 7} & weekday.taken)
    starred = day.text.startswith("*") or weekday.text.startswith("*")
    right_day = (by_day and by_weekday) if starred else (by_day or by_weekday)
    return (
        wall.minute in minute.taken
        and wall.hour in hour.taken
        and wall.month in month.taken
        and right_day
    )


def walk(fields: list[Field], zone: ZoneInfo, start: datetime, hours: int) -> Iterator[datetime]:
    passes = any(part.text.startswith("*") for part in fields[:2])
    shown = start.astimezone(zone).replace(tzinfo=None) - timedelta(minutes=1)
    for number in range(hours * 60):
        instant = start + timedelta(minutes=number)
        wall = instant.astimezone(zone).replace(tzinfo=None)
        if passes:
            if matches(fields, wall):
                yield instant
            continue
        # All that the clock has newly come to, or has passed over.
        new = []
        while shown < wall:
            shown += timedelta(minutes=1)
            new.append(shown)
        if any(matches(fields, each) for each in new):
            yield instant


CHANGES = {
    "US/Pacific": [(3, 8), (11, 1)],
    "Europe/Berlin": [(3, 29), (10, 25)],
    "Australia/Lord_Howe": [(4, 4), (10, 3)],  # half an hour
    "America/Santiago": [(4, 4), (9, 5)],  # at midnight
    "Africa/Casablanca": [(2, 15), (3, 22)],  # twice in five weeks
    "Africa/Cairo": [(4, 23), (10, 29)],
    "Pacific/Apia": [(3, 1), (12, 29)],
    "Asia/Kathmandu": [(1, 1), (7, 1)],
    "UTC": [(2, 28), (12, 31)],
}


@settings(max_examples=300)
@given(
    fields=st.tuples(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 7)).map(list),
    zone=st.sampled_from(sorted(CHANGES)),
    year=st.integers(2011, 2036),
    near=st.integers(0, 1),
    offset=st.integers(-2 * 1440, 1440),
)
def test_it_is_what_a_walk_through_every_minute_finds(
    fields: list[Field], zone: str, year: int, near: int, offset: int
) -> None:
    month, day = CHANGES[zone][near]
    start = datetime(year, month, day, tzinfo=UTC) + timedelta(minutes=offset)
    expected = _instants(list(walk(fields, ZoneInfo(zone), start, 96)))
    end = start + timedelta(hours=96)
    try:
        cron = Cron(" ".join(part.text for part in fields), zone)
    except ValueError:
        reject()  # the 31st of no month that has one
    found = _found(cron, start, end)
    # What a walk begins within an hour that comes twice, it takes for the first of them.
    skipped = _shown_before(ZoneInfo(zone), start)
    assert [each for each in found if each >= skipped] == [
        each for each in expected if each >= skipped
    ]


def _instants(found: list[datetime]) -> list[int]:
    return [round(each.timestamp() * 1000) for each in found]


def _found(cron: Cron, start: datetime, end: datetime) -> list[int]:
    first, last = round(start.timestamp() * 1000), round(end.timestamp() * 1000)
    return list(takewhile(lambda instant: instant < last, cron.instants(first - 1)))


def _shown_before(zone: ZoneInfo, start: datetime) -> int:
    """From when on no clock shows what it had shown before the start."""
    wall = start.astimezone(zone).replace(tzinfo=None)
    moment: Callable[[int], datetime] = lambda hours: start - timedelta(hours=hours)  # noqa: E731
    before = max(moment(hours).astimezone(zone).replace(tzinfo=None) for hours in range(1, 30))
    return round((start + max(before - wall, timedelta(0))).timestamp() * 1000)


@given(
    zone=st.sampled_from(sorted(CHANGES)),
    cron=st.sampled_from(["30 1,2 * * *", "*/20 * * * *", "0 0 * * *", "15 */2 * * SUN"]),
    asked=st.integers(ms("2025-01-01T00:00+00:00"), ms("2027-01-01T00:00+00:00")),
)
def test_it_is_the_same_from_wherever_it_is_asked(zone: str, cron: str, asked: int) -> None:
    """The planned instants of a schedule do not depend on when its process was started."""
    timing = Cron(cron, zone)
    whole = list(islice(timing.instants(asked - 30 * HOUR), 200))
    behind = [instant for instant in whole if instant > asked]
    assert list(islice(timing.instants(asked), len(behind))) == behind
