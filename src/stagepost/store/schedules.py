"""PORT. Schedules, an attribute of the store: `store.schedules`."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from stagepost.firing import Firing
from stagepost.records import Scope
from stagepost.schedule import Plan, Schedule


class Due(NamedTuple):
    """What the planner has to do at `now`: schedules that are due, and those with a free stream.

    Of the latter, by id, the next run waits and none goes on before it. Of a tenant's that are
    held, as there is no room, there is one: what refuses it refuses the others.
    """

    now: int
    schedules: Sequence[Schedule]
    free: Sequence[str]


class Run(NamedTuple):
    """A run that was submitted."""

    schedule_id: str
    planned_at: int
    task_id: str


class Standing(NamedTuple):
    """All tenants' schedules: how many there are, and how late the first one is, in ms."""

    active: int
    paused: int
    waiting: int
    late: int


class Schedules(Protocol):
    """Schedules and their runs. One outside the scope is as absent as one that never was.

    A planned instant of a schedule has at most one run, whoever asks for it; the run, its task and
    the schedule's progress are one transaction.
    """

    async def now(self) -> int:
        """The store's time, by which instants are past or to come."""
        ...

    async def add(
        self, schedule_id: str, tenant: str, user: str, plan: Plan, most: int
    ) -> Schedule:
        """Begin a schedule whose timing was checked. Raises Conflict when the tenant has `most`."""
        ...

    async def get(self, schedule_id: str, scope: Scope) -> Schedule:
        """A schedule. Raises NotFound."""
        ...

    async def find(self, scope: Scope, after: str | None, limit: int) -> Sequence[Schedule]:
        """Schedules in the order of their ids, a page behind the id `after`.

        Behind what is no id there may be none.
        """
        ...

    async def change(self, schedule_id: str, scope: Scope, before: Plan, plan: Plan) -> Schedule:
        """Give it another plan. Raises NotFound; Conflict when its plan is not `before` now."""
        ...

    async def remove(self, schedule_id: str, scope: Scope) -> None:
        """End a schedule and what waits of it; its tasks go on. Raises NotFound."""
        ...

    async def backfill(self, schedule_id: str, scope: Scope, planned: Sequence[int]) -> int:
        """Let those of the instants that have no run be made up; answers how many.

        Raises NotFound; Conflict when too many wait, or runs so old are remembered no more.
        """
        ...

    async def due(self, limit: int) -> Due:
        """What there is to do, at most so many of each."""
        ...

    async def fire(self, firing: Firing) -> Sequence[Run]:
        """Do it, unless another has done it, or the schedule was changed; answers what started."""
        ...

    async def proceed(self, schedule_id: str) -> Sequence[Run]:
        """Submit what waits in its streams and has nothing going on before it."""
        ...

    async def standing(self) -> Standing:
        """How the schedules stand."""
        ...
