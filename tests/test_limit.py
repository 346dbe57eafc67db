from typing import Any

import pytest

from stagepost.limit import Calendar, Limit, Pace


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("100/1m", Limit("x", 100, 60)),
        ("100/60", Limit("x", 100, 60)),
        ("5/500ms", Limit("x", 5, 0.5)),
        ("2", Limit("x", at_once=2)),
        ("100/1m+2", Limit("x", 100, 60, at_once=2)),
        ("7/31d", Limit("x", 7, 31 * 86_400)),
    ],
)
def test_a_limit_is_read_from_text(text: str, limit: Limit) -> None:
    assert Limit.parse("x", text) == limit


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "0",
        "-1",
        "1/",
        "/1m",
        "1/0s",
        "1/32d",
        "1/1y",
        "1/1m+",
        "+2",
        "1m",
        "1.5/1m",
        "1+2",
    ],
)
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"limit|duration|window"):
        Limit.parse("x", text)


@pytest.mark.parametrize("name", ["", "A", "a b", "-a", "a" * 101, "ä", "a\n"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no name"):
        Limit(name, at_once=1)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"units": 0},
        {"at_once": 10_001},
        {"burst": 3, "at_once": 1},
        {"units": 5, "burst": 6},
        {"units": 5, "pace": Pace()},
        {"units": 5, "calendar": Calendar.DAY},
        {"units": 10**10},
    ],
)
def test_what_can_not_be_meant_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"limit|burst"):
        Limit("x", **wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"at_once": 1},
        {"units": 5, "burst": 2},
        {"units": 5, "calendar": Calendar.DAY},
        {"units": 10**10},
        {"units": 5, "at_once": 100_001},
    ],
)
def test_what_can_not_be_meant_of_calls_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"limit|budget"):
        Limit("model:x/y:tokens", pace=Pace(), **wrong)


@pytest.mark.parametrize("share", [0.0, -1.0, 1.01])
def test_a_share_that_can_not_be_meant_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="share"):
        Pace(share)


def test_a_budget_has_room_for_a_billion_dollars_and_tells_them() -> None:
    large = Limit("budget:tenant/a", 10**15, calendar=Calendar.MONTH)
    assert large.words == "$1,000,000,000.00 a month"
    assert Limit("budget:task/a", 1_500_000, calendar=Calendar.EVER).words == "$1.50 in all"
    with pytest.raises(ValueError, match="at once"):
        Limit("budget:task/a", 1, at_once=1, calendar=Calendar.EVER)


def test_names_of_calls_are_nobody_elses() -> None:
    with pytest.raises(ValueError, match="no name"):
        Limit("model:x/y", 5)
    assert Limit("model:x/Y:free", 5, pace=Pace()).for_calls


def test_what_never_fits() -> None:
    both = Limit("x", 10, 60, at_once=3)
    assert [both.never_fits(units) for units in (3, 4, 11)] == [False, True, True]
    assert both.words == "10 in 60 s and 3 at once"
