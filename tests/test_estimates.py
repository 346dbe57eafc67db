"""How long a task will take, by what others took."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.estimates import (
    KEPT,
    comparable,
    left,
    of_lane,
    queue_wait,
    remaining,
    seed,
    size_class,
    slot_time,
    typical,
)
from stagepost.task import Status, Task, Wait
from support.tasks import BORN, SECOND, a_task

MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("size", "seconds"),
    [(0, 10), (102_399, 10), (102_400, 15), (3 * 102_400 + 1, 25), (MIB, 60)],
)
def test_before_there_is_history_the_seed_formula_has_to_do(size: int, seconds: int) -> None:
    assert seed(size) == typical({}, size, 200) == seconds * SECOND


def test_size_classes_double_and_have_an_end() -> None:
    sizes = [0, 1023, 1024, 2047, 2048, 4095, MIB - 1, MIB, 2**40]
    assert [size_class(size) for size in sizes] == [0, 0, 1, 1, 2, 2, 10, 11, 22]


def test_what_is_typical_is_the_median_of_the_same_size() -> None:
    durations = {0: [100] * 9 + [90_000] * 4, 5: [7_000] * KEPT}
    assert typical(durations, 0, 500) == 100
    assert typical(durations, 20_000, 500) == 7_000


def test_one_task_is_more_than_none() -> None:
    assert typical({0: [700]}, 0, 10) == 700


def test_neighbours_help_in_the_proportion_of_the_formula() -> None:
    small = size_class(0)
    large = 10 * MIB
    durations = {small: [2_000] * 20}
    # Ten times as long as the formula says for a small one is so for a large one as well.
    ratio = typical(durations, large, 0) / typical(durations, 0, 0)
    assert ratio == pytest.approx(seed(large) / seed(0), rel=0.35)
    # As soon as there are enough of its own size, the neighbours are not asked.
    assert typical({**durations, size_class(large): [5_000] * 8}, large, 0) == 5_000


def test_the_nearer_neighbour_is_asked_first() -> None:
    assert typical({3: [300] * 8, 6: [600] * 8}, 0, 16_000) == 300


@given(st.lists(st.integers(1, 10**7), min_size=1, max_size=64), st.integers(0, 2 * 10**7))
def test_a_running_task_is_compared_with_those_that_took_longer(
    times: list[int], elapsed: int
) -> None:
    found = left(sorted(times), elapsed, 0)
    assert 0 <= found <= max(0, max(times) - elapsed)
    if elapsed >= max(times):
        assert found == 0


def test_what_is_left_falls_as_time_passes() -> None:
    even = list(range(1_000, 61_000, 1_000))
    told = [left(even, elapsed, 0) for elapsed in range(0, 60_000, 500)]
    assert told == sorted(told, reverse=True)
    same = [20_000] * 30
    assert [left(same, elapsed, 0) for elapsed in (0, 5_000, 19_000, 20_000, 90_000)] == [
        20_000, 15_000, 1_000, 0, 0,
    ]  # fmt: skip


def test_what_is_left_falls_as_the_task_gets_on() -> None:
    usual = [60_000] * 30
    told = [left(usual, 10_000, progress) for progress in (0, 20, 40, 60, 80, 99)]
    assert told == sorted(told, reverse=True)
    # Long after all others have ended only its own pace tells.
    assert left(usual, 300_000, 75) == 100_000


def test_a_fast_task_is_seen_by_its_pace() -> None:
    assert left([60_000] * 30, 4_000, 80) < 14_000


def task(status: Status, **changes: object) -> Task:
    return a_task(status=status, **changes)


HISTORY = {0: [30 * SECOND] * 20}
NOW = BORN + 100 * SECOND


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        (task(Status.QUEUED), 35),
        (task(Status.PENDING, run_at=NOW + 60 * SECOND), 95),
        (task(Status.RUNNING, started_at=NOW - 10 * SECOND), 20),
        (task(Status.RUNNING, started_at=NOW - 90 * SECOND), 0),
        (task(Status.FAILED, due_at=NOW + 5 * SECOND), 40),
        (task(Status.FAILED, due_at=NOW + 5 * SECOND, progress=50), 25),
        (task(Status.FAILED, due_at=NOW - SECOND), 35),
        (task(Status.WAITING, wait=Wait("limit", "x", NOW + 7 * SECOND)), 42),
        (task(Status.WAITING, wait=Wait("signal", "approval", NOW + 900 * SECOND)), 35),
        (task(Status.WAITING, wait=Wait("child", "x"), started_at=NOW - 12 * SECOND), 18),
    ],
)
def test_every_task_that_is_not_settled_has_a_time_before_it(given: Task, seconds: int) -> None:
    assert remaining(given, HISTORY, 10, NOW, 5 * SECOND) == seconds * SECOND


def test_a_task_without_history_runs_by_the_formula() -> None:
    running = task(Status.RUNNING, started_at=NOW - 4 * SECOND, upload_bytes=102_400)
    assert remaining(running, {}, 10, NOW, 0) == 11 * SECOND


def waits(**changes: int) -> int:
    values = {"ahead": 20, "free": 0, "slots": 4, "pace": 0, "busy_for": 0, "each": 2_000}
    return queue_wait(**(values | changes))


def test_a_free_worker_is_no_wait() -> None:
    assert waits(ahead=0, free=1) == 0
    assert waits(ahead=3, free=4) == 0
    assert waits(ahead=4, free=4) == 500


def test_tasks_ahead_take_their_time() -> None:
    assert waits() == 21 * 2_000 // 4


def test_a_busy_lane_tells_its_own_pace() -> None:
    assert waits(pace=120, busy_for=60_000) == 21 * 500
    # What ended in a minute in which there was little to do is the least that it can do.
    assert waits(pace=60, busy_for=59_999) == waits()
    assert waits(pace=600, busy_for=59_999) == 21 * 100


def test_a_slot_is_held_as_long_as_by_the_latest_of_the_lane() -> None:
    history = {of_lane("batch"): {0: [1_000, 2_000, 6_000]}}
    assert slot_time(history, "batch", 7) == 3_000
    assert slot_time(history, "interactive", 7) == 7


def test_without_workers_nobody_knows() -> None:
    assert waits(slots=0) == 0


def test_times_are_in_order() -> None:
    assert list(comparable({0: [3, 1, 2]}, 0)) == [1, 2, 3]
