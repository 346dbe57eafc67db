"""Tables for people."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from bench.pairs import Comparison, spread
from bench.program import Measured


def print_comparisons(title: str, comparisons: Sequence[Comparison]) -> None:
    """One row a peer: median rates, and the ratio with its range."""
    table = Table("against", "subject /s", "it /s", "ratio", "range", "durable", "how", title=title)
    for comparison in comparisons:
        ratio = spread(comparison.ratios)
        table.add_row(
            comparison.other.name,
            f"{comparison.subject.rate:,.0f}",
            f"{comparison.other.rate:,.0f}",
            f"{ratio['median']:.2f}",
            f"{ratio['min']:.2f}..{ratio['max']:.2f}",
            "yes" if comparison.other.durable else "no",
            f"{comparison.other.tasks:,} tasks; {comparison.other.notes}",
        )
    Console(width=160).print(table)


def print_runs(title: str, runs: Sequence[Measured]) -> None:
    """The rate of one program alone."""
    table = Table("program", "median /s", "range", "how", title=title)
    rates = [run.rate for run in runs]
    range_ = spread(rates)
    how = f"{runs[0].tasks:,} tasks; {runs[0].notes}"
    table.add_row(
        runs[0].name, f"{range_['median']:,.0f}", f"{range_['min']:,.0f}..{range_['max']:,.0f}", how
    )
    Console(width=160).print(table)
