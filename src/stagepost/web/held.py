"""By which rule a queued task is held back: a pause, or a limit that is full. Pure."""

from collections.abc import Mapping, Sequence

from stagepost.rules import RuleKind, Rules, Running
from stagepost.task import Task, Wait


def paused(task: Task, rules: Rules) -> Wait | None:
    """The task's lane or type, if an operator has paused it."""
    for kind, name in ((RuleKind.LANE, task.lane), (RuleKind.TYPE, task.type)):
        if rules.of(kind, name).paused:
            return Wait("paused", f"{kind.value} {name}")
    return None


def full(
    task: Task, rules: Rules, coded: Mapping[str, int], running: Sequence[Running]
) -> Wait | None:
    """The limit of its lane, type or tenant of which all is taken.

    `coded` are the limits that the types' code gives; a type's rule goes before.
    """
    for kind, name in (
        (RuleKind.LANE, task.lane),
        (RuleKind.TYPE, task.type),
        (RuleKind.TENANT, task.tenant),
    ):
        most = rules.of(kind, name).concurrency
        if most is None and kind is RuleKind.TYPE:
            most = coded.get(name)
        if most is not None and _many(kind, name, running) >= most:
            return Wait("limit", f"{kind.value} {name}")
    return None


def _many(kind: RuleKind, name: str, running: Sequence[Running]) -> int:
    place = Running._fields.index(kind.value)
    return sum(each.many for each in running if each[place] == name)
