"""How much of a shared limit is used, that none is above it, and what a reservation costs."""

from functools import partial

from bench.pairs import in_turn
from bench.programs import LIMITS, LIMITS_POSTGRES
from bench.report import spread_text
from bench.result import Result, Table, Target, at_least, at_most
from bench.session import Session

SHARE = 0.97
"""Of the limit, by four who want all of it."""

_COLUMNS = {"share": 3, "above": 0, "reserve /s": 0, "p50 ms": 3, "p99 ms": 3}
"""And their digits."""


def run(session: Session) -> Result:
    """Each limiter once in a round."""
    programs = (LIMITS, LIMITS_POSTGRES)
    rounds = in_turn(
        {program.name: partial(session.figures, program) for program in programs},
        session.pairs_of(3),
    )
    rows, targets = [], list[Target]()
    for name in rounds.runs:
        cells = [
            spread_text(rounds.spread(name, column), digits) for column, digits in _COLUMNS.items()
        ]
        rows.append([name, *cells])
        targets += [
            at_least(f"{name}: share of the limit", rounds.spread(name, "share")["median"], SHARE),
            at_most(f"{name}: windows above it", rounds.spread(name, "above")["max"], 0),
        ]
    table = Table("500 units in any second, wanted by four", ("limiter", *_COLUMNS), rows)
    return Result("limits", [table], targets, rounds.as_json())
