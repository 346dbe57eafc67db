"""Sees that what has to end does end, and that the handlers' loop turns.

It lives in the main loop, as the worker does. A handler that does not end is settled for; only a
new process is rid of it then.
"""

import asyncio
import logging
import random
import time
from collections.abc import Callable
from typing import Final

from stagepost.errors import LeaseLost, Retryable
from stagepost.handlers_loop import HandlersLoop
from stagepost.outcome import Outcome
from stagepost.registry import App
from stagepost.running import RUNNING, Running, Stop, Why, outcome_of
from stagepost.slots import Slots
from stagepost.store import Store

_log = logging.getLogger("stagepost.worker")

LAST_WORDS: Final = 2.0
"""Seconds between unwinding a handler and giving it up."""

SETTLE: Final = 5.0
"""Seconds for a settlement in somebody's stead."""

_WATCH: Final = 0.25  # seconds between two looks at what runs


class Watchdog:
    """The watch over what runs in `slots`; `drain` is called when the process must be replaced."""

    def __init__(
        self,
        app: App,
        store: Store,
        loop: HandlersLoop,
        slots: Slots,
        drain: Callable[[], None],
        *,
        cancel_grace: float,
        stall_after: float,
    ) -> None:
        self._app = app
        self._store = store
        self._loop = loop
        self._slots = slots
        self._drain = drain
        self._cancel_grace = cancel_grace
        self._stall_after = stall_after
        self.stalled = False
        """True while a handler blocks the handlers' loop."""
        self.stuck = False
        """True once the process must be replaced."""

    async def run(self) -> None:
        """Watch until cancelled. Raises RuntimeError once the handlers' loop has ended."""
        while True:
            await asyncio.sleep(_WATCH)
            self._look_at_the_loop()
            now = time.monotonic()
            for running in tuple(self._slots.running.values()):
                if now >= running.ends_at:
                    self.tell(running, Stop(Why.TIMEOUT))
                elif now >= running.deadline_at:
                    self.tell(running, Stop(Why.DEADLINE))
                await self._insist_on_the_end(running, now)

    def tell(self, running: Running, stop: Stop) -> None:
        """Have a claim end for a reason, unless a stronger one was told before."""
        if running.asked is None or running.asked.why < stop.why:
            running.asked = stop
            running.asked_at = running.asked_at or time.monotonic()
            self._loop.call(running.end, stop)

    def _look_at_the_loop(self) -> None:
        if not self._loop.alive:
            raise RuntimeError("The handlers' event loop has ended.")
        silent = self._loop.silent_for()
        stalled = silent > self._stall_after
        if stalled and not self.stalled:
            _log.error("a handler blocks its event loop:\n%s", self._loop.stack())
        self.stalled = stalled
        if silent > self._stall_after + self._cancel_grace:
            self._be_rid_of_a_stray()

    def _be_rid_of_a_stray(self) -> None:
        # With a claim that runs, its time-out decides; what blocks the loop now belongs to none.
        if not self._slots.running and not self.stuck:
            _log.error("nothing runs and the event loop is blocked; this process will be replaced")
            self.stuck = True
            self._drain()

    async def _insist_on_the_end(self, running: Running, now: float) -> None:
        if running.asked_at is None or running.handled or self.stuck:
            return
        grace = self._cancel_grace
        if now >= running.asked_at + grace + LAST_WORDS:
            await self._give_up(running)
        elif now >= running.asked_at + grace:
            self._loop.call(running.unwind)

    async def _give_up(self, running: Running) -> None:
        """The handler does not end: settle for it, and let the process be replaced."""
        culprit = running
        if self.blocked:
            culprit = self._culprit() or running
            _log.error("a handler blocks its event loop:\n%s", self._loop.stack())
        _log.error(
            "the handler of task %s does not end; this process will be replaced",
            culprit.claim.task_id,
        )
        self.stuck = True
        await self.settle_for(culprit, culprit.asked or Stop(Why.TIMEOUT))
        self._drain()

    def _culprit(self) -> Running | None:
        busy = self._loop.busy
        for running in tuple(self._slots.running.values()):
            if running.asyncio_task is busy:
                return running
        return self._loop.busy_with(RUNNING)

    @property
    def blocked(self) -> bool:
        """Whether the handlers' loop does not even take what it is told."""
        return self._loop.silent_for() > LAST_WORDS / 2

    async def settle_for(self, running: Running, stop: Stop) -> None:
        """Settle in the stead of a handler that does not end, and give it up."""
        retry = self._app.types[running.claim.type].retry
        spread = random.random()  # noqa: S311  # only spreads
        outcome = outcome_of(stop, running.claim, retry, spread)
        running.abandoned = True
        if outcome is not None:
            await self._settle(running, outcome)

    async def _settle(self, running: Running, outcome: Outcome) -> None:
        try:
            async with asyncio.timeout(SETTLE):
                await self._store.settle(running.claim.lease, outcome)
        except LeaseLost as error:
            _log.info("%s", error)
        except (Retryable, TimeoutError) as error:
            _log.error("task %s is left to the rescuer: %s", running.claim.task_id, error)
