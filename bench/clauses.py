"""Clauses that are asked about twenty at once, against the time that their calls alone take."""

from functools import partial

from bench.pairs import in_turn
from bench.programs import CLAUSES, CONTRACT
from bench.report import spread_text
from bench.result import Result, Table, at_most
from bench.session import Session

MOST = 1.15
"""Times the ideal."""

_SECONDS = ("ideal", "clauses", "whole task")


def run(session: Session) -> Result:
    """Each once in a round."""
    programs = (CLAUSES, CONTRACT)
    rounds = in_turn(
        {program.name: partial(session.figures, program) for program in programs},
        session.pairs_of(2),
    )
    rows, targets = [], []
    for name, runs in rounds.runs.items():
        cells = [spread_text(rounds.spread(name, f"{what} s"), 2) for what in _SECONDS]
        ratios = [run.values["clauses s"] / run.values["ideal s"] for run in runs]
        rows.append([name, f"{runs[0].values['calls']:.0f}", *cells, f"{max(ratios):.3f}"])
        targets.append(at_most(f"{name}: clauses / ideal, the slowest run", max(ratios), MOST))
    columns = ("", "calls", *(f"{what} s" for what in _SECONDS), "clauses / ideal")
    return Result(
        "clauses",
        [Table("calls of a second, twenty at once", columns, rows)],
        targets,
        rounds.as_json(),
    )
