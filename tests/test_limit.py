import pytest

from stagepost.limit import Limit


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


def test_what_can_not_be_meant_is_refused() -> None:
    for wrong in (
        {},
        {"units": 0},
        {"at_once": 10_001},
        {"burst": 3, "at_once": 1},
        {"units": 5, "burst": 6},
    ):
        with pytest.raises(ValueError, match=r"limit|burst"):
            Limit("x", **wrong)


def test_what_never_fits() -> None:
    both = Limit("x", 10, 60, at_once=3)
    assert [both.never_fits(units) for units in (3, 4, 11)] == [False, True, True]
    assert both.words == "10 in 60 s and 3 at once"
