"""Sleeping tasks wake on time, and nobody notices, on both stores."""

from functools import partial

from bench.pairs import in_turn
from bench.programs import SLEEPERS, SLEEPERS_POSTGRES
from bench.report import spread_text
from bench.result import Result, Table, Target, at_least, at_most
from bench.session import Session

LATE = 1_000.0
"""Milliseconds for 99 of 100."""

UNHARMED = 0.97
"""The share of the other tasks' rate that is left."""

_BEFORE, _WHILE = "before /s", "while they wake /s"


def run(session: Session) -> Result:
    """Each store once in a round."""
    programs = (SLEEPERS, SLEEPERS_POSTGRES)
    rounds = in_turn(
        {program.name: partial(session.figures, program) for program in programs},
        session.pairs_of(1),
    )
    rows, targets = [], list[Target]()
    for name, runs in rounds.runs.items():
        late = rounds.spread(name, "late p99 ms")["median"]
        left = rounds.spread(name, _WHILE)["median"] / rounds.spread(name, _BEFORE)["median"]
        columns = ("late p50 ms", "late p99 ms", "late max ms", _BEFORE, _WHILE)
        cells = [spread_text(rounds.spread(name, column)) for column in columns]
        rows.append([name, *cells, f"{left:.3f}", runs[-1].notes])
        targets += [
            at_most(f"{name}: late, p99", late, LATE, " ms"),
            at_least(f"{name}: rate of other tasks while they wake / before", left, UNHARMED),
        ]
    table = Table("sleepers", ("store", *columns, "while / before", "how"), rows)
    return Result("sleepers", [table], targets, rounds.as_json())
