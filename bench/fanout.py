"""Ten thousand children of one parent, fanned out and in, against as many plain tasks."""

from dataclasses import replace
from functools import partial

from bench.pairs import interleaved, spread
from bench.programs import FANOUT, FANOUT_POSTGRES, POSTGRES_ALONE, STAGEPOST
from bench.result import Result, at_least
from bench.session import Session
from bench.throughput import comparison_table

SHARE = 0.6
PAIRS = 5


def run(session: Session) -> Result:
    """Interleaved pairs on each store, of one size."""
    comparisons = {}
    for subject, plain in ((FANOUT, STAGEPOST), (FANOUT_POSTGRES, POSTGRES_ALONE)):
        other = replace(plain, size=subject.size, quick=subject.quick)
        comparisons[subject.name] = interleaved(
            partial(session.rate, subject), partial(session.rate, other), session.pairs_of(PAIRS)
        )
    targets = [
        at_least(f"{name} / plain", spread(found.ratios)["median"], SHARE)
        for name, found in comparisons.items()
    ]
    rows = [comparison.as_json() for comparison in comparisons.values()]
    table = comparison_table("fan-out and fan-in", list(comparisons.values()))
    return Result("fanout", [table], targets, {"rows": rows})
