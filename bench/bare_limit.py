"""The bare limit of the embedded store alone; under 30,000/s it isn't the limit."""

from bench.pairs import spread
from bench.programs import LIMIT
from bench.report import spread_text
from bench.result import Result, Table, at_least
from bench.session import Session

LEAST = 30_000.0


def run(session: Session) -> Result:
    """As many runs as there would be pairs."""
    runs = [session.rate(LIMIT) for _ in range(session.pairs_of(5))]
    rates = spread([run.rate for run in runs])
    how = f"{runs[0].tasks:,} tasks; {runs[0].notes}"
    table = Table(
        "bare limit of the embedded store",
        ("program", "/s", "how"),
        [[LIMIT.name, spread_text(rates), how]],
    )
    target = at_least("bare limit of the embedded store", rates["median"], LEAST, "/s")
    return Result("limit", [table], [target], {"rates": rates})
