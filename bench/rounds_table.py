"""The table of several programs that were run in turn."""

from collections.abc import Mapping

from bench.pairs import Rounds
from bench.report import spread_text
from bench.result import Table


def rounds_table(title: str, rounds: Rounds, figures: Mapping[str, int], *, compared: str) -> Table:
    """One row a program: the median of each figure with its range; `figures` says how many digits.

    The last but one column has the figure `compared` of each program in terms of the first one's.
    What a program notes about a run is that of its last.
    """
    first = next(iter(rounds.runs))
    rows = [
        [
            name,
            *(
                spread_text(rounds.spread(name, figure), digits)
                for figure, digits in figures.items()
            ),
            f"{rounds.ratio(name, first, compared):.3g}",
            runs[-1].notes,
        ]
        for name, runs in rounds.runs.items()
    ]
    return Table(title, ("program", *figures, f"{compared}, ratio", "how"), rows)
