"""From submit to handler start at low load, against peers."""

from functools import partial

from bench.low_load import EVERY
from bench.pairs import in_turn
from bench.programs import CLIENT, DISPATCH_PEERS, HTTP
from bench.result import Result, at_most
from bench.rounds_table import rounds_table
from bench.session import Session

P50 = 5.0
P99 = 25.0

_FIGURES = {"p50 ms": 2, "p99 ms": 2, "max ms": 1}


def run(session: Session) -> Result:
    """Three rounds of ten seconds each."""
    programs = (CLIENT, HTTP, *(DISPATCH_PEERS if session.peers else ()))
    runs = {program.name: partial(session.figures, program) for program in programs}
    rounds = in_turn(runs, session.pairs_of(3))
    targets = [
        at_most(f"submit to handler start, {way}, {figure}", measured, bound, " ms")
        for program, way in ((CLIENT, "client"), (HTTP, "HTTP"))
        for figure, bound in (("p50", P50), ("p99", P99))
        for measured in [rounds.spread(program.name, f"{figure} ms")["median"]]
    ]
    title = f"submit to handler start, one task each {1e3 * EVERY:.0f} ms"
    table = rounds_table(title, rounds, _FIGURES, compared="p50 ms")
    return Result("dispatch", [table], targets, {"programs": rounds.as_json()})
