"""Groups of dead letters and changes of many tasks, as they go over the wire."""

from typing import Literal

from typing_extensions import TypedDict


class Group(TypedDict):
    """Dead letters of one kind.

    `estimatedCost` in US dollars is what their models will take if they are sent back and run from
    the beginning, by what completed tasks of the type have cost; saved steps make it less. It is
    null while no task of the type that has called models was completed.
    """

    failureKind: str | None
    type: str | None
    count: int
    oldest: str
    estimatedCost: float | None


class DryRun(TypedDict):
    """What a redrive would do."""

    matched: int
    groups: list[Group]


class Redriven(TypedDict):
    """A redrive that has begun."""

    redriveId: str
    matched: int


class Redrive(TypedDict):
    """How far a redrive is. `completed` and `failed` count the tasks that have ended since.

    `reason` says why it was stopped.
    """

    redriveId: str
    state: Literal["running", "done", "stopped"]
    matched: int
    sent: int
    completed: int
    failed: int
    reason: str | None


class Matched(TypedDict):
    """How many tasks a change of many is meant for."""

    matched: int
