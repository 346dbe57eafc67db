"""No-op tasks with the store in PostgreSQL, one worker process, against its limit and peers."""

import shutil
import sys
from functools import partial

from bench.pairs import interleaved, spread
from bench.programs import LIMIT_POSTGRES, POSTGRES, POSTGRES_PEERS, RIVER, Program
from bench.result import Result, Target, at_least
from bench.session import Session
from bench.throughput import AIM, SHARE, comparison_table

PROCRASTINATE = 15.0
BULK = 1.0


def run(session: Session) -> Result:
    """Interleaved pairs of the engine on PostgreSQL and each other program."""
    others = [LIMIT_POSTGRES, *(_peers() if session.peers else ())]
    comparisons = {
        other.name: interleaved(
            partial(session.rate, POSTGRES), partial(session.rate, other), session.pairs_of(5)
        )
        for other in others
    }
    ratios = {name: spread(found.ratios)["median"] for name, found in comparisons.items()}
    title = f"throughput of {POSTGRES.name} ({comparisons[LIMIT_POSTGRES.name].subject.notes})"
    return Result(
        "postgres",
        [comparison_table(title, list(comparisons.values()))],
        _targets(ratios),
        {
            "subject": POSTGRES.name,
            "rows": [comparison.as_json() for comparison in comparisons.values()],
        },
    )


def _peers() -> list[Program]:
    if shutil.which("go") is not None:
        return list(POSTGRES_PEERS)
    print("River is left out: there is no Go toolchain to build it with", file=sys.stderr)
    return [peer for peer in POSTGRES_PEERS if peer is not RIVER]


def _targets(ratios: dict[str, float]) -> list[Target]:
    targets = [
        at_least(
            "on PostgreSQL: throughput / bare limit", ratios[LIMIT_POSTGRES.name], SHARE,
            aim=f"{AIM}",
        )
    ]  # fmt: skip
    if "pgqueuer-bulk" in ratios:
        targets += [
            at_least("on PostgreSQL: throughput / pgqueuer's bulk", ratios["pgqueuer-bulk"], BULK),
            at_least(
                "on PostgreSQL: throughput / Procrastinate",
                ratios["procrastinate-postgres"],
                PROCRASTINATE,
            ),
        ]
    if RIVER.name in ratios:
        targets.append(at_least("on PostgreSQL: throughput / River", ratios[RIVER.name], BULK))
    return targets
