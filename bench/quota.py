"""How much of what a provider lends is used at overload, and how often it refuses.

Stagepost and the peers before the same simulated provider with the same calls; its ledger judges.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from bench.program import Figures
from bench.programs import QUOTA, QUOTA_PEERS, Program
from bench.quota_case import Case, cases
from bench.result import Result, Table, Target, at_least, at_most
from bench.session import Session

CLEAN, CHANGED = 0.98, 0.95
"""Of the limit that runs out first, from a provider that stays as it is, or lowers its limits."""

_OWN, _PEERS = 2, 4
"""Runs that go on at the same time, since they wait most of theirs; one refusal of ours counts."""

_COLUMNS = ("share", "requests", "tokens", "429", "billed", "failed", "left", "attempts spent")
_SHARES = _COLUMNS[:3]

Run = tuple[Case, Program]


class Group(NamedTuple):
    """Runs of which so many go on at the same time."""

    at_once: int
    runs: Sequence[Run]


def run(session: Session) -> Result:
    """Each case once, some at the same time; a quick one takes two cases."""
    groups = _groups(session)
    runs = [one for group in groups for one in group.runs]
    found = [got for group in groups for got in _measured(session, group)]
    rows = [_row(case, program, got) for (case, program), got in zip(runs, found, strict=True)]
    title = f"{session.size_of(QUOTA)} minutes of a provider of which 1.5 times its limit is wanted"
    table = Table(title, ("provider", "caller", *_COLUMNS), rows)
    figures: dict[str, dict[str, object]] = {}
    for (case, program), got in zip(runs, found, strict=True):
        by_minute = {"by minute": got.notes}
        figures.setdefault(case.name, {})[program.name] = {**got.values, **by_minute}
    return Result("quota", [table], _targets(runs, found), figures)


def _groups(session: Session) -> Sequence[Group]:
    wanted = [case for case in cases().values() if not session.quick or case.name in _QUICK]
    peers = QUOTA_PEERS if session.peers else ()
    own = [(case, QUOTA) for case in wanted]
    compared = [(case, peer) for case in wanted if case.compared for peer in peers]
    return [Group(_OWN, own), Group(_PEERS, compared)]


def _measured(session: Session, group: Group) -> Sequence[Figures]:
    with ThreadPoolExecutor(group.at_once) as some:
        return list(some.map(lambda one: session.figures(one[1], one[0].name), group.runs))


_QUICK = ("bucket, reserved", "window, reserved, lowered")


def _row(case: Case, program: Program, got: Figures) -> Sequence[str]:
    cells = [
        f"{got.values[column]:.1%}" if column in _SHARES else _number(got, column)
        for column in _COLUMNS
    ]
    return [case.name, program.name, *cells]


def _number(got: Figures, column: str) -> str:
    # Only a task has attempts.
    return f"{got.values[column]:,.0f}" if column in got.values else ""


def _targets(runs: Sequence[Run], found: Sequence[Figures]) -> Sequence[Target]:
    own = [(case, got.values) for (case, of), got in zip(runs, found, strict=True) if of is QUOTA]
    clean = [values for case, values in own if case.lowered is None]
    changed = [values for case, values in own if case.lowered is not None]
    return [
        at_least("quota: used of the limit, the least", _least(clean), CLEAN),
        at_most("quota: 429", sum(values["429"] for values in clean), 0),
        at_least("quota, lowered midway: used, the least", _least(changed), CHANGED),
        at_most(
            "quota, lowered midway: attempts spent",
            sum(values["attempts spent"] for values in changed),
            0,
        ),
    ]


def _least(runs: Sequence[Mapping[str, float]]) -> float:
    return min(values["share"] for values in runs)
