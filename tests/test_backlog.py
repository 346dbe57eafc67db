"""Places that are not counted one by one."""

from hypothesis import given
from hypothesis import strategies as st

from stagepost.backlog import Backlog, Stretch

scores = st.lists(st.integers(0, 200), max_size=120).map(sorted)


def a_backlog(step: int, *stretches: tuple[str, list[int]]) -> Backlog:
    told = [Stretch(name, len(all_), all_[step - 1 :: step]) for name, all_ in stretches]
    return Backlog(step, told)


def test_who_is_alone_has_its_own_before_it() -> None:
    backlog = a_backlog(100, ("acme", list(range(1_000))))
    assert [backlog.place("acme", score) for score in (0, 99, 100, 555, 5_000)] == [
        1, 1, 101, 501, 1_001,
    ]  # fmt: skip


def test_of_others_no_more_are_before_it_than_of_its_own() -> None:
    large, small = list(range(1_000)), list(range(30))
    backlog = a_backlog(10, ("acme", large), ("bolt", large), ("tiny", small))
    assert backlog.place("acme", 15) == 10 + 11 + 11 + 1
    assert backlog.place("acme", 500) == 500 + 501 + 30 + 1


def test_the_types_of_a_tenant_have_their_turns_together() -> None:
    backlog = a_backlog(10, ("acme", list(range(50))), ("acme", list(range(20, 70))))
    assert backlog.place("acme", 45) == 40 + 20 + 1
    assert backlog.place("bolt", 0) == 1 + 1


@given(scores, scores, scores, st.integers(1, 9))
def test_it_is_short_by_less_than_a_step_a_stretch_and_grows(
    first: list[int], second: list[int], other: list[int], step: int
) -> None:
    backlog = a_backlog(step, ("acme", first), ("acme", second), ("bolt", other))
    places = [backlog.place("acme", score) for score in range(202)]
    assert places == sorted(places)
    for score, place in enumerate(places):
        own = sum(each < score for each in [*first, *second])
        exact = own + min(own + 1, len(other)) + 1
        assert exact - 4 * step < place <= exact
