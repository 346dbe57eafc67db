"""Learns how long tasks take, and what they cost, from those that this process completes."""

import asyncio
import logging
from typing import Final

from stagepost.clock import Clock
from stagepost.errors import Retryable
from stagepost.estimates import of_cost, of_lane, of_tokens, size_class
from stagepost.records import Claimed, Scope
from stagepost.store import Store

_log = logging.getLogger("stagepost.learning")

_EVERY: Final = 5.0  # seconds between two writes
_MOST: Final = 16  # times of one type and size class in one write: more would tell little more
_LARGEST: Final = 2**53  # no sum that is kept is larger
_PAUSE: Final = 0.01  # seconds after one time of a type in which no other one is looked at
_GOODBYE: Final = 2.0  # seconds


class Learner:
    """Gathers times in memory, a few of each kind, and keeps them in the store every 5 s.

    `saw` is on the path of every task and may be called from another thread than `run` works in; a
    time that is lost between the two is no harm.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._fresh: dict[tuple[str, int], list[int]] = {}
        self._again: dict[str, float] = {}

    def saw(self, claim: Claimed, began: float, now: float) -> None:
        """A task was completed; the monotonic seconds at which its claim began and ended."""
        if now < self._again.get(claim.type, now):
            return
        self._again[claim.type] = now + _PAUSE
        ran = int((now - began) * 1000)
        size = size_class(claim.upload_bytes + len(claim.input))
        self._note((claim.type, size), claim.age + ran)
        self._note((of_lane(claim.lane), 0), ran)

    async def paid(self, claim: Claimed) -> None:
        """A task that has called models was completed: what it has taken of them in all."""
        size = size_class(claim.upload_bytes + len(claim.input))
        if len(self._fresh.get((of_cost(claim.type), size), ())) >= _MOST:
            return
        try:
            spent = await self._store.calls.spent(claim.task_id, Scope(claim.tenant))
        except Retryable as error:
            _log.info("what a task has cost was not kept: %s", error)
            return
        self._note((of_cost(claim.type), size), min(spent.cost, _LARGEST))
        self._note((of_tokens(claim.type), size), min(spent.input + spent.output, _LARGEST))

    def _note(self, place: tuple[str, int], took: int) -> None:
        seen = self._fresh.setdefault(place, [])
        if len(seen) < _MOST:
            seen.append(took)

    async def run(self) -> None:
        """Keep what was seen, again and again, and once more at the end."""
        try:
            while True:
                await self._clock.sleep(_EVERY)
                await self.keep()
        finally:
            try:
                async with asyncio.timeout(_GOODBYE):
                    await self.keep()
            except TimeoutError:
                _log.info("the last times of tasks were not kept: the store is slow")

    async def keep(self) -> None:
        """Keep what was seen since the last time; dropped while the store can't be used."""
        seen, self._fresh = self._fresh, {}
        if not seen:
            return
        try:
            await self._store.history.add(seen)
        except Retryable as error:
            _log.info("some tasks' times were not kept: %s", error)
