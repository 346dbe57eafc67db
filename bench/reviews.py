"""Contract reviews in bursts: Stagepost against the design that it replaces."""

from collections.abc import Mapping
from functools import partial

from bench.pairs import Rounds, in_turn
from bench.programs import DEFAULT, FIRST_BARE, LENIENT, REVIEWS, SIZED
from bench.report import spread_text
from bench.result import Result, Table, Target, at_least, at_most
from bench.reviews_given import BURSTS
from bench.session import Session

TIMES = 5.0
"""Times the reviews per hour of the endpoint, at a provider that counts what it refuses."""

FIRST = 50.0
"""Milliseconds to the first answer, for 99 of 100."""

_ENDPOINTS = (SIZED, DEFAULT, LENIENT)
_COUNTS = {
    "completed/h": "completed reviews per hour",
    "minutes": "minutes until the last user had a review or gave up",
    "completed": "completed reviews",
    "given up": "reviews whose users gave up",
    "429s": "429s at the provider",
    "calls paid": "calls that were paid",
    "paid twice": "of these for a review that was paid before",
    "paid, never seen": "reviews that were paid and that nobody has seen",
}
_FIRSTS = {"p50 ms": "first answer, p50", "p99 ms": "first answer, p99"}


def run(session: Session) -> Result:
    """Each design once in a round."""
    programs = (FIRST_BARE, REVIEWS, *_ENDPOINTS)
    rounds = in_turn(
        {program.name: partial(session.figures, program) for program in programs},
        session.pairs_of(2),
    )
    table = _table(rounds, session.size_of(REVIEWS))
    return Result("reviews", [table], _targets(rounds), rounds.as_json(), shown=table)


def _table(rounds: Rounds, reviews: int) -> Table:
    names = [program.name for program in (REVIEWS, *_ENDPOINTS)]
    rows = [
        [
            told,
            *(
                spread_text(rounds.spread(name, count), 1 if count == "minutes" else 0)
                for name in names
            ),
        ]
        for count, told in _COUNTS.items()
    ]
    ratios = (rounds.ratio(REVIEWS.name, name, "completed/h") for name in names)
    rows.insert(1, ["Stagepost's against these", *(f"{ratio:.1f} times" for ratio in ratios)])
    rows += [
        [told, *(_times(rounds.spread(name, figure)) for name in names)]
        for figure, told in _FIRSTS.items()
    ]
    bare = _times(rounds.spread(FIRST_BARE.name, "p99 ms"))
    title = (
        f"{reviews} contract reviews in {BURSTS} bursts; a constant was answered in {bare} (p99) "
        "in the same run"
    )
    return Table(title, ("", *names), rows)


def _times(spread: Mapping[str, float]) -> str:
    median, least, most = (_time(spread[part]) for part in ("median", "min", "max"))
    return median if least == most else f"{median} ({least}..{most})"


def _time(milliseconds: float) -> str:
    return f"{milliseconds:.0f} ms" if milliseconds < 1e3 else f"{milliseconds / 1e3:.1f} s"


def _targets(rounds: Rounds) -> list[Target]:
    worst = {
        figure: rounds.spread(REVIEWS.name, figure)["max"]
        for figure in ("429s", "given up", "paid twice", "paid, never seen")
    }
    first = rounds.spread(REVIEWS.name, "p99 ms")["median"]
    ratios = [
        at_least(
            f"reviews per hour, Stagepost / {name}",
            rounds.ratio(REVIEWS.name, name, "completed/h"),
            TIMES,
        )
        for name in (SIZED.name, DEFAULT.name)
    ]
    return [
        *ratios,
        at_most("429s of Stagepost", worst["429s"], 0),
        at_most("first answer of Stagepost, p99", first, FIRST, " ms"),
        at_most("reviews that Stagepost lost", worst["given up"], 0),
        at_most("calls that Stagepost paid twice", worst["paid twice"], 0),
    ]
