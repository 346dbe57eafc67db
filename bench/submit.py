"""The durable 202 over HTTP, against the same server with a constant answer."""

from functools import partial

from bench import wrk
from bench.pairs import in_turn
from bench.programs import CONSTANT, SUBMIT
from bench.result import Result, Target, at_least, at_most
from bench.rounds_table import rounds_table
from bench.session import Session

LEAST = 1_500.0
P50 = 10.0

_FIGURES = {"submits/s": 0, "p50 ms": 2, "p99 ms": 2, "max ms": 1}


def run(session: Session) -> Result:
    """Three rounds are enough: each is ten seconds of load."""
    programs = {program.name: partial(session.figures, program) for program in (SUBMIT, CONSTANT)}
    rounds = in_turn(programs, session.pairs_of(3))
    rate = rounds.spread(SUBMIT.name, "submits/s")["median"]
    p50 = rounds.spread(SUBMIT.name, "p50 ms")["median"]
    targets: list[Target] = [
        at_least("submit over HTTP, one API process", rate, LEAST, "/s"),
        at_most("submit over HTTP, p50", p50, P50, " ms"),
    ]
    title = f"submit over HTTP, wrk with {wrk.CONNECTIONS} keep-alive connections"
    table = rounds_table(title, rounds, _FIGURES, compared="submits/s")
    ratio = round(rounds.ratio(SUBMIT.name, CONSTANT.name, "submits/s"), 3)
    figures = {"programs": rounds.as_json(), "rateOfConstant": ratio}
    return Result("submit", [table], targets, figures)
