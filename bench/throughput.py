"""No-op tasks, from the first submit to the last durable completion, against each peer."""

from functools import partial

from bench.pairs import interleaved
from bench.programs import LIMIT, PEERS, SUBJECT
from bench.report import print_comparisons
from bench.session import Session


def run(session: Session) -> dict[str, object]:
    """Interleaved pairs of the subject and each peer, then the bare limit."""
    others = [other for other in (*PEERS, LIMIT) if other is not SUBJECT]
    comparisons = [
        interleaved(partial(session.run, SUBJECT), partial(session.run, other), session.pairs)
        for other in others
    ]
    print_comparisons(f"throughput of {SUBJECT.name}", comparisons)
    rows = [comparison.as_json() for comparison in comparisons]
    return {"name": "throughput", "subject": SUBJECT.name, "rows": rows}
