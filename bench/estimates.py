"""How good the estimates are, on a made-up stream of tasks."""

from collections.abc import Callable, Sequence

from bench.estimated_mix import KINDS, Guessed, stream
from bench.result import Result, Table, above, at_least
from bench.session import Session

TASKS = 10_000
_QUICK = 1_000
_WITHIN = 0.7
"""The share of tasks that must be guessed within a factor of two once there is history."""

_COLUMNS = (
    "tasks", "the formula alone", "learnt", "halfway", "halfway, with progress", "with its queue",
)  # fmt: skip


def run(session: Session) -> Result:
    """One stream; it is the same each time."""
    tasks = stream(_QUICK if session.quick else TASKS)
    shares = {kind: _shares([task for task in tasks if task.kind == kind]) for kind in KINDS}
    shares["all"] = _shares(tasks)
    rows = [[kind, *(f"{share:.0%}" for share in found)] for kind, found in shares.items()]
    formula, learnt, _, _, queued = shares["all"]
    targets = [
        at_least("tasks guessed within a factor of two, learnt", learnt, _WITHIN),
        at_least("queue and work within a factor of two, of those that waited", queued, _WITHIN),
        above("learnt, against the formula alone", learnt, formula),
    ]
    title = f"{len(tasks):,} tasks: how many were guessed within a factor of two"
    figures = {kind: dict(zip(_COLUMNS[1:], found, strict=True)) for kind, found in shares.items()}
    return Result("estimates", [Table(title, _COLUMNS, rows)], targets, {"within two": figures})


def _shares(tasks: Sequence[Guessed]) -> tuple[float, ...]:
    waited = [task for task in tasks if task.queued] or tasks
    return (
        _within(tasks, lambda task: (task.seed, task.took)),
        _within(tasks, lambda task: (task.typical, task.took)),
        _within(tasks, lambda task: (task.halfway, task.took / 2)),
        _within(tasks, lambda task: (task.halfway_by_progress, task.took / 2)),
        _within(waited, lambda task: (task.with_queue, task.ended - task.arrived)),
    )


def _within(tasks: Sequence[Guessed], pair: Callable[[Guessed], tuple[float, float]]) -> float:
    pairs = map(pair, tasks)
    return sum(0.5 <= guess / max(1.0, truth) <= 2.0 for guess, truth in pairs) / len(tasks)
