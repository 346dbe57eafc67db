"""No-op tasks, from the first submit to the last durable completion, against peers and limit."""

from collections.abc import Sequence
from functools import partial

from bench.pairs import Comparison, interleaved, spread
from bench.programs import LIMIT, PEERS, STAGEPOST
from bench.result import Result, Table, Target, above, at_least
from bench.session import Session

# How many times a peer's rate, and which share of the limit, must be reached.
DRAMATIQ = 4.0
PROCRASTINATE = 15.0
BULK = 1.0
SHARE = 0.4
AIM = 0.6


def run(session: Session) -> Result:
    """Interleaved pairs of the embedded engine and each other program."""
    others = [LIMIT, *(PEERS if session.peers else ())]
    comparisons = {
        other.name: interleaved(
            partial(session.rate, STAGEPOST), partial(session.rate, other), session.pairs_of(5)
        )
        for other in others
    }
    rows = [comparison.as_json() for comparison in comparisons.values()]
    title = f"throughput of {STAGEPOST.name} ({comparisons[LIMIT.name].subject.notes})"
    return Result(
        "throughput",
        [comparison_table(title, list(comparisons.values()))],
        _targets(comparisons),
        {"subject": STAGEPOST.name, "rows": rows},
    )


def _targets(comparisons: dict[str, Comparison]) -> list[Target]:
    ratios = {name: spread(found.ratios)["median"] for name, found in comparisons.items()}
    targets = [
        at_least("throughput / bare limit", ratios[LIMIT.name], SHARE, aim=f"{AIM}"),
    ]
    if "dramatiq-redis" in ratios:
        targets += [
            at_least("throughput / Dramatiq on Redis", ratios["dramatiq-redis"], DRAMATIQ),
            at_least(
                "throughput / Procrastinate on PostgreSQL",
                ratios["procrastinate-postgres"],
                PROCRASTINATE,
            ),
            above("throughput / pgqueuer's bulk insert", ratios["pgqueuer-bulk"], BULK),
        ]
    return targets


def comparison_table(title: str, comparisons: Sequence[Comparison]) -> Table:
    """A row for each program that was compared with."""
    columns = ("against", "stagepost /s", "it /s", "ratio", "range", "durable", "how")
    return Table(title, columns, [_row(comparison) for comparison in comparisons])


def _row(comparison: Comparison) -> list[str]:
    ratio, other = spread(comparison.ratios), comparison.other
    return [
        other.name,
        f"{comparison.subject.rate:,.0f}",
        f"{other.rate:,.0f}",
        f"{ratio['median']:.2f}",
        f"{ratio['min']:.2f}..{ratio['max']:.2f}",
        "yes" if other.durable else "no",
        f"{other.tasks:,} tasks; {other.notes}",
    ]
