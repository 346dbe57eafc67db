"""What a look makes of a schedule: every planned instant is taken or left out, and none twice."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.firing import (
    MADE_UP_MOST,
    MISFIRE_AFTER,
    QUEUED_MOST,
    Firing,
    Verdict,
    firing,
    verdict,
)
from stagepost.schedule import (
    Misfire,
    Overlap,
    Schedule,
    begun,
    changed,
    due_of,
    filled,
    upcoming,
)
from stagepost.timing import MINUTE
from support.schedules import plan

NOW = 1_700_000_000_000


def schedule(**changes: Any) -> Schedule:
    return begun("0192", "acme", "ada", plan(**changes), NOW)


def after(before: Schedule, made: Firing) -> Schedule:
    """The schedule once the store has done what was made of it."""
    return replace(before, next_at=made.next_at, due_at=made.due_at, version=before.version + 1)


def taken(made: Firing) -> list[int]:
    return [*made.made_up, *([] if made.live is None else [made.live])]


@given(
    looks=st.lists(st.integers(1, 900_000), min_size=1, max_size=30),
    every=st.integers(1, 400),
    misfire=st.sampled_from(list(Misfire)),
    jitter=st.integers(0, 60),
)
def test_no_instant_is_taken_twice_and_those_of_all_are_all_taken(
    looks: list[int], every: int, misfire: Misfire, jitter: int
) -> None:
    current = schedule(every=every, misfire=misfire, jitter=min(jitter, every - 1))
    now, seen = NOW, []
    for pause in looks:
        now += pause
        if current.due_at is None or current.due_at > now:
            continue
        made = firing(current, now)
        assert made.next_at is not None
        assert made.due_at is not None
        if made.due_at <= now:
            assert made.live is not None, "the next look finds what is on time as well"
        assert all(due_of(current.id, each, current.plan.jitter) <= now for each in taken(made))
        if made.live is not None and misfire is not Misfire.ONCE:
            due = due_of(current.id, made.live, current.plan.jitter)
            assert now - due <= MISFIRE_AFTER
        seen += taken(made)
        current = after(current, made)
    assert seen == sorted(set(seen))
    lattice = range(NOW + every * 1000, (current.next_at or 0), every * 1000)
    if misfire is Misfire.ALL and len(lattice) <= MADE_UP_MOST:
        assert seen == list(lattice)
    assert set(seen) <= set(lattice)


@given(
    downs=st.lists(st.integers(1, MISFIRE_AFTER), min_size=1, max_size=20),
    every=st.integers(1, 12),
    misfire=st.sampled_from(list(Misfire)),
)
def test_each_instant_that_is_on_time_is_taken_in_its_order(
    downs: list[int], every: int, misfire: Misfire
) -> None:
    current = schedule(every=every, misfire=misfire)
    now, seen = NOW, []
    for down in downs:
        now += down
        looks = 0
        while current.due_at is not None and current.due_at <= now:
            looks += 1
            assert looks <= MISFIRE_AFTER // (every * 1000) + 1
            made = firing(current, now)
            assert (made.made_up, made.skipped_why) == ((), None)
            seen += taken(made)
            current = after(current, made)
    assert seen == list(range(NOW + every * 1000, now + 1, every * 1000))


@pytest.mark.parametrize("cron", ["* * * * *", "*/7 3 * * *", "0 0 1 1 *", "0 12 * * MON"])
@pytest.mark.parametrize("days", [0.01, 3, 400, 3_000])
def test_the_latest_missed_are_those_that_a_walk_finds(cron: str, days: float) -> None:
    current = schedule(cron=cron, timezone="Europe/Berlin", misfire=Misfire.ALL)
    now = NOW + round(days * 86_400_000)
    assert current.next_at is not None
    if current.next_at > now:
        return
    found = []
    # A walk from near enough that it ends, and far enough that it has a hundred.
    start = max(NOW, now - (40 * 366 if "1 1" in cron else 900) * 86_400_000)
    start = max(start, now - 200 * MINUTE) if cron == "* * * * *" else start
    for instant in current.timing.instants(start):
        if instant > now:
            break
        found.append(instant)
    assert taken(firing(current, now))[-MADE_UP_MOST:] == found[-MADE_UP_MOST:]


def test_a_look_before_anything_is_due_moves_nothing() -> None:
    current = schedule(jitter=30)
    assert current.next_at is not None
    made = firing(current, current.next_at - 1)
    assert (taken(made), made.next_at, made.due_at) == ([], current.next_at, current.due_at)


def test_jitter_spreads_and_stays() -> None:
    drawn = {due_of(f"id {n}", NOW, 60) for n in range(200)}
    assert len(drawn) > 100
    assert min(drawn) >= NOW
    assert max(drawn) <= NOW + 60_000
    assert due_of("id 1", NOW, 60) == due_of("id 1", NOW, 60)
    assert due_of("id 1", NOW, 0) == NOW


def test_next_runs_are_shown_though_it_is_paused() -> None:
    current = schedule(every=60)
    assert upcoming(current, NOW, 3) == [NOW + n * MINUTE for n in (1, 2, 3)]
    paused = changed(current, replace(current.plan, paused=True), NOW)
    assert paused.due_at is None
    assert upcoming(paused, NOW + 5 * MINUTE, 2) == [NOW + n * MINUTE for n in (6, 7)]


@pytest.mark.parametrize(
    ("overlap", "running", "waiting", "expected"),
    [
        (Overlap.SKIP, 0, 0, Verdict.TAKE),
        (Overlap.SKIP, 1, 0, Verdict.SKIP),
        (Overlap.SKIP, 0, 1, Verdict.SKIP),
        (Overlap.QUEUE, 1, QUEUED_MOST - 1, Verdict.TAKE),
        (Overlap.QUEUE, 1, QUEUED_MOST, Verdict.FULL),
        (Overlap.CANCEL_OLD, 0, 0, Verdict.TAKE),
        (Overlap.CANCEL_OLD, 1, 0, Verdict.CANCEL),
    ],
)
def test_the_overlap_policy(
    overlap: Overlap, running: int, waiting: int, expected: Verdict
) -> None:
    assert verdict(overlap, running, waiting) is expected


def test_only_a_text_that_is_the_mark_alone_is_filled_in() -> None:
    text = '{"a":"{plannedAt}","b":["{plannedAt}"],"c":"at {plannedAt}","d":"\\"{plannedAt}\\""}'
    assert filled(text, NOW) == (
        '{"a":"2023-11-14T22:13:20.000Z","b":["2023-11-14T22:13:20.000Z"],'
        '"c":"at {plannedAt}","d":"\\"{plannedAt}\\""}'
    )
