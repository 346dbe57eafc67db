"""The bare limit of the embedded store alone; under 30,000/s it isn't the limit."""

from bench.pairs import spread
from bench.programs import LIMIT
from bench.report import print_runs
from bench.session import Session

LEAST = 30_000


def run(session: Session) -> dict[str, object]:
    """As many runs as there would be pairs."""
    runs = [session.run(LIMIT) for _ in range(session.pairs)]
    print_runs("bare limit of the embedded store", runs)
    rates = spread([run.rate for run in runs])
    return {"name": "limit", "rates": rates, "least": LEAST, "reached": rates["median"] >= LEAST}
