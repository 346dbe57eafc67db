"""Throughput with a million finished tasks in the store, against an empty one."""

from functools import partial

from bench.pairs import interleaved, spread
from bench.programs import GROWN, STAGEPOST
from bench.result import Result, Table, below
from bench.session import Session

PAIRS = 10
LOST = 10.0


def run(session: Session) -> Result:
    """The grown store is made once; every pair adds its own tasks to it.

    A copy of it for each pair would measure how the system writes that copy to the disk.
    """
    folder = session.folder / "grown"
    grown = session.figures(GROWN, "--data", str(folder))
    comparison = interleaved(
        partial(session.rate, STAGEPOST, "--data", str(folder)),
        partial(session.rate, STAGEPOST),
        session.pairs_of(PAIRS),
    )
    ratio = spread(comparison.ratios)
    lost = round(100 * (1 - ratio["median"]), 1)
    columns = ("finished tasks", "file MiB", "grown /s", "empty /s", "grown / empty", "range")
    row = [
        f"{session.size_of(GROWN):,}",
        f"{grown.values['MiB']:,.0f}",
        f"{comparison.subject.rate:,.0f}",
        f"{comparison.other.rate:,.0f}",
        f"{ratio['median']:.2f}",
        f"{ratio['min']:.2f}..{ratio['max']:.2f}",
    ]
    target = below(f"throughput lost to {row[0]} finished tasks", lost, LOST, " %")
    figures = {**comparison.as_json(), "against": "empty store", "store": dict(grown.values)}
    return Result("growth", [Table("growth", columns, [row])], [target], figures)
