"""Progress to the readers of streams, and what open streams cost, against a bare endpoint."""

from collections.abc import Sequence
from functools import partial

from bench.pairs import in_turn
from bench.program import Figures
from bench.programs import BARE_IDLE, BARE_PROGRESS, IDLE, PROGRESS, Program
from bench.result import Result, at_most
from bench.rounds_table import rounds_table
from bench.session import Session

P99 = 50.0
MEMORY = 40.0

_LATENCIES = {"p50 ms": 2, "p99 ms": 2, "max ms": 1}
_COSTS = {"KiB a stream": 1, "CPU %": 1}


def run(session: Session) -> Result:
    """Three rounds with ticks; memory differs so little that two do for the idle streams."""
    idle = ("--idle", "1") if session.quick else ()
    live = in_turn(_runs(session, (PROGRESS, BARE_PROGRESS)), session.pairs_of(3))
    quiet = in_turn(_runs(session, (IDLE, BARE_IDLE), *idle), session.pairs_of(2))
    streams, open_ = session.size_of(PROGRESS), session.size_of(IDLE)
    p99 = live.spread(PROGRESS.name, "p99 ms")["median"]
    memory = quiet.spread(IDLE.name, "KiB a stream")["median"]
    targets = [
        at_most(f"progress to stream, {streams:,} streams, p99", p99, P99, " ms"),
        at_most(f"memory of a stream, {open_:,} open", memory, MEMORY, " KiB"),
    ]
    tables = [
        rounds_table("ctx.progress to the reader of a stream", live, _LATENCIES, compared="p50 ms"),
        rounds_table("open streams without news", quiet, _COSTS, compared="KiB a stream"),
    ]
    figures = {"live": live.as_json(), "idle": quiet.as_json()}
    return Result("progress", tables, targets, figures)


def _runs(
    session: Session, programs: Sequence[Program], *words: str
) -> dict[str, partial[Figures]]:
    return {program.name: partial(session.figures, program, *words) for program in programs}
