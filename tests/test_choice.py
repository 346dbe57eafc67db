"""Lanes take turns by weight."""

from collections import Counter
from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.choice import LaneTurns

weights = st.dictionaries(st.sampled_from("abcde"), st.integers(1, 20), min_size=1, max_size=5)


def backlog(lanes: Mapping[str, int], slots: int) -> dict[str, list[str]]:
    """What a store offers: as many rows of each lane as there are slots."""
    return {lane: [lane] * slots for lane in lanes}


@given(weights, st.lists(st.integers(1, 12), min_size=1, max_size=60))
def test_shares_are_within_one_turn_of_the_weights(
    given_weights: dict[str, int], calls: list[int]
) -> None:
    turns = LaneTurns(given_weights)
    taken: Counter[str] = Counter()
    for slots in calls:
        taken.update(turns.choose(backlog(given_weights, slots), slots))
    total, whole = sum(calls), sum(given_weights.values())
    assert taken.total() == total
    for lane, weight in given_weights.items():
        # Between two lanes nobody is more than one turn ahead.
        assert abs(taken[lane] - total * weight / whole) < len(given_weights)


@given(weights, st.integers(0, 2**32))
def test_no_lane_starves_however_the_others_come_and_go(
    given_weights: dict[str, int], seed: int
) -> None:
    turns, random = LaneTurns(given_weights), Random(seed)
    lanes = sorted(given_weights)
    patient = random.choice(lanes)
    longest = 2 * len(given_weights) + sum(
        weight // given_weights[patient] + 1 for weight in given_weights.values()
    )
    since = 0
    for _ in range(200):
        slots = random.randint(1, 3)
        present = {patient, *random.sample(lanes, random.randint(0, len(lanes)))}
        chosen = turns.choose(backlog(dict.fromkeys(present, 1), slots), slots)
        since = 0 if patient in chosen else since + len(chosen)
        assert since <= longest


@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 500))
def test_an_idle_lane_saves_nothing(one: int, other: int, alone: int) -> None:
    turns = LaneTurns({"one": one, "other": other})
    for _ in range(alone):
        assert turns.choose({"one": ["one"]}, 1) == ["one"]
    both = [turns.choose(backlog({"one": 1, "other": 1}, 1), 1)[0] for _ in range(one + other)]
    assert abs(both.count("other") - other) <= 1


@given(weights, st.data())
def test_rows_are_taken_from_each_front_and_no_slot_is_wasted(
    given_weights: dict[str, int], data: st.DataObject
) -> None:
    turns = LaneTurns(given_weights)
    rows = st.lists(st.integers(), max_size=6)
    available = {lane: data.draw(rows) for lane in sorted(given_weights)}
    slots = data.draw(st.integers(0, 20))
    tagged = {lane: [(lane, n, row) for n, row in enumerate(available[lane])] for lane in available}
    chosen = turns.choose(tagged, slots)
    assert len(chosen) == min(slots, sum(map(len, available.values())))
    for lane in available:
        numbers = [n for name, n, _ in chosen if name == lane]
        assert numbers == list(range(len(numbers)))


def test_a_weight_of_eight_beside_one_gets_eight_of_nine_even_one_slot_at_a_time() -> None:
    turns = LaneTurns({"interactive": 8, "batch": 1})
    taken = Counter(
        turns.choose(backlog({"interactive": 8, "batch": 1}, 1), 1)[0] for _ in range(900)
    )
    assert taken == {"interactive": 800, "batch": 100}


def test_two_against_three_one_slot_at_a_time() -> None:
    turns = LaneTurns({"two": 2, "three": 3})
    taken = Counter(turns.choose(backlog({"two": 2, "three": 3}, 1), 1)[0] for _ in range(500))
    assert taken == {"two": 200, "three": 300}


def test_unknown_and_empty_lanes_are_passed_over() -> None:
    turns = LaneTurns({"a": 1})
    assert turns.choose({}, 3) == []
    assert turns.choose({"a": [], "b": ["b"]}, 3) == []
    assert turns.lanes == ("a",)


def test_a_weight_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        LaneTurns({"a": 0})


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.lists(st.integers(0, 12)), st.data())
def test_standings_foretell_the_turns(
    weights: list[int], earlier: list[int], data: st.DataObject
) -> None:
    """What a store works out from the standings, to ask for no more rows than it will take."""
    names = [f"lane {number}" for number in range(len(weights))]
    turns = LaneTurns(dict(zip(names, weights, strict=True)))
    for slots in earlier:
        lane = data.draw(st.sampled_from(names))
        turns.choose({lane: [lane] * slots}, slots)
    work = {name: data.draw(st.integers(0, 6)) for name in names}
    foretold = sorted(
        (place + nth * stride, number, name)
        for number, (name, place, stride) in enumerate(turns.standing())
        for nth in range(work[name])
    )
    slots = data.draw(st.integers(0, 20))
    chosen = turns.choose({name: [name] * many for name, many in work.items()}, slots)
    assert chosen == [name for _, _, name in foretold[:slots]]


def test_other_weights_count_from_the_next_turn_and_lose_no_place() -> None:
    turns = LaneTurns({"a": 2, "b": 1})
    turns.choose(backlog({"a": 2, "b": 1}, 3), 3)
    turns.weigh({"b": 7})
    taken = Counter(turns.choose(backlog({"a": 2, "b": 1}, 900), 900))
    assert abs(taken["b"] - 700) <= 1
    turns.weigh({"b": 7, "nowhere": 5})
    turns.weigh({})
    taken = Counter(turns.choose(backlog({"a": 2, "b": 1}, 900), 900))
    assert abs(taken["a"] - 600) <= 1
