"""Plans, and a planner that is driven by hand."""

from typing import Any

from stagepost.firing import firing
from stagepost.outcome import Succeeded
from stagepost.records import Filter
from stagepost.schedule import Plan, Schedule
from stagepost.store.schedules import Run
from stagepost.task import Task
from support.world import DAY, EVERYBODY, World, new_id, payload

MOST = 1_000


def plan(**changes: Any) -> Plan:
    """Each minute, of the kind of `new_task`."""
    values: dict[str, Any] = {
        "name": "each minute",
        "type": "review",
        "input": '{"page":1}',
        "lane": "interactive",
        "max_attempts": 4,
        "ttl": DAY,
    }
    if not {"cron", "every", "at"} & set(changes):
        values["every"] = 60
    return Plan(**(values | changes))


async def begin(world: World, **changes: Any) -> Schedule:
    """A schedule of acme's, and of ada's."""
    tenant, user = changes.pop("tenant", "acme"), changes.pop("user", "ada")
    return await world.store.schedules.add(new_id(), tenant, user, plan(**changes), MOST)


async def look(world: World) -> list[Run]:
    """What the planner does in one look."""
    schedules = world.store.schedules
    due = await schedules.due(100)
    runs: list[Run] = []
    for schedule in due.schedules:
        runs += await schedules.fire(firing(schedule, due.now))
    for schedule_id in due.free:
        runs += await schedules.proceed(schedule_id)
    return runs


async def tasks_of(world: World, schedule: Schedule) -> list[Task]:
    """The tasks of its runs, oldest first."""
    where = Filter(tag=f"schedule:{schedule.id}", limit=2_000)
    return [*reversed(await world.store.find(EVERYBODY, where))]


async def again(world: World, schedule: Schedule) -> Schedule:
    """The schedule as it is now."""
    return await world.store.schedules.get(schedule.id, EVERYBODY)


async def finish_all(world: World) -> int:
    """Complete all that is in the pool."""
    claims = await world.claim(100)
    for claimed in claims:
        await world.store.settle(claimed.lease, Succeeded(payload()))
    return len(claims)
