"""Submits the tasks of schedules at their planned instants."""

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Sequence
from typing import Final

from stagepost.clock import Clock
from stagepost.errors import Retryable, StagepostError
from stagepost.event import rfc3339
from stagepost.firing import Firing, firing, unusable
from stagepost.maintenance.leadership import Leadership
from stagepost.maintenance.looking import look_on
from stagepost.schedule import Schedule
from stagepost.store import Store
from stagepost.store.schedules import Run

_log = logging.getLogger("stagepost.planner")

_EVERY: Final = 0.25  # seconds between two looks; a look at idle schedules is an indexed read
_BATCH: Final = 100


class Planner:
    """One loop; of many processes the leader's. Two at once make no run twice: see `fire`.

    A schedule that can't be fired is logged and keeps no other back.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._schedules = store.schedules
        self._clock = clock
        self._leadership = Leadership(store, clock, "planner")

    async def run(self) -> None:
        """Look, again and again, until cancelled."""
        await look_on(
            self.look, self._leadership, self._clock, _log, every=_EVERY, waiting="schedules"
        )

    async def look(self) -> bool:
        """Do what is due now, if this process leads; True if more may be."""
        if not await self._leadership.holds():
            return False
        due = await self._schedules.due(_BATCH)
        if not due.schedules and not due.free:
            return False
        # Long-missed ones are worked out apart, and all are written at once.
        made = await asyncio.to_thread(_firings, due.schedules, due.now)
        fired = await _all([*map(self._schedules.fire, made)])
        freed = await _all([*map(self._schedules.proceed, due.free)])
        _tell(made, fired + freed)
        # Where one went on that was held, there may be room for others.
        return len(due.schedules) >= _BATCH or bool(freed)


def _firings(schedules: Sequence[Schedule], now: int) -> Sequence[Firing]:
    return [_firing(schedule, now) for schedule in schedules]


def _firing(schedule: Schedule, now: int) -> Firing:
    try:
        return firing(schedule, now)
    except ValueError:
        # As when a time zone has been taken away: the others must go on.
        _log.exception("the schedule %s is understood no more and stands still", schedule.id)
        return unusable(schedule)


async def _all(calls: Iterable[Awaitable[Sequence[Run]]]) -> list[Run]:
    """What was submitted. Raises Retryable when some have to be tried again."""
    runs: list[Run] = []
    refused: Retryable | None = None
    for answer in await asyncio.gather(*calls, return_exceptions=True):
        match answer:
            case Retryable():
                refused = answer
            case StagepostError():
                _log.error("a schedule could not be fired: %s", answer)
            case BaseException():
                raise answer
            case _:
                runs += answer
    if refused is not None:
        raise refused
    return runs


def _tell(made: Iterable[Firing], runs: Iterable[Run]) -> None:
    for each in made:
        if each.skipped_at is not None:
            _log.warning(
                "the schedule %s left instants out (%s), the last %s",
                each.schedule_id,
                each.skipped_why,
                rfc3339(each.skipped_at),
            )
    for run in runs:
        _log.info(
            "the schedule %s submitted task %s of %s",
            run.schedule_id,
            run.task_id,
            rfc3339(run.planned_at),
        )
