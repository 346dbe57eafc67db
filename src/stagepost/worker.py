"""A worker's life: it registers, keeps its lease, drains and retires.

Claims, handlers and their settlement live in the handlers' event loop (`Slots`). This side lives in
the main loop, so that a handler that blocks its loop stops neither the heartbeats nor the watchdog.
"""

import asyncio
import contextlib
import logging
import os
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from uuid_utils import uuid7

from stagepost.bus import Bus, Committed, Token
from stagepost.errors import Retryable, StoreBroken
from stagepost.executor import Executor
from stagepost.handlers_loop import HandlersLoop
from stagepost.records import WorkerRecord
from stagepost.registry import App
from stagepost.running import Running, Stop, Why
from stagepost.slots import Slots
from stagepost.store import Store
from stagepost.watchdog import LAST_WORDS, SETTLE, Watchdog
from stagepost.worker_lease import WorkerLease

_log = logging.getLogger("stagepost.worker")

_POLL: Final = 0.02  # seconds


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """How a worker works. Durations are seconds; see docs/settings.md."""

    lanes: Mapping[str, int]
    slots: int
    lease: float
    heartbeat: float
    drain_grace: float
    cancel_grace: float
    stall_after: float
    version: str


class Worker:
    """One worker. `run` works until `drain` is called."""

    def __init__(
        self, app: App, store: Store, bus: Bus, executor: Executor, options: WorkerOptions
    ) -> None:
        self._app = app
        self._store = store
        self._bus = bus
        self._executor = executor
        self._options = options
        self._loop = HandlersLoop()
        self._lease = WorkerLease(options.lease)
        self._slots = Slots(app, store, executor, options.lanes, options.slots, self._lease)
        self._watchdog = Watchdog(
            app,
            store,
            self._loop,
            self._slots,
            self.drain,
            cancel_grace=options.cancel_grace,
            stall_after=options.stall_after,
        )
        self._beat_now = asyncio.Event()
        self._drain_asked = asyncio.Event()
        self._hurried = False
        self._begun = asyncio.Event()
        self._ended = asyncio.Event()

    @property
    def stuck(self) -> bool:
        """True once the process must be replaced to be rid of a handler that does not end."""
        return self._watchdog.stuck

    @property
    def state(self) -> str:
        """running, draining or stalled."""
        if self._drain_asked.is_set():
            return "draining"
        return "stalled" if self._watchdog.stalled else "running"

    def drain(self) -> None:
        """Claim no more, let what runs come to a checkpoint, give back the rest, then end."""
        self._drain_asked.set()

    def hurry(self) -> None:
        """End the drain's grace now: what has not come to a checkpoint is cut where it is."""
        self._hurried = True

    async def begun(self) -> None:
        """Wait until the store knows it for the first time."""
        await self._begun.wait()

    async def ended(self) -> None:
        """Wait until `run` has ended, however it did."""
        await self._ended.wait()

    async def run(self) -> None:
        """Work until drained."""
        try:
            await self._work()
        finally:
            self._ended.set()

    async def _work(self) -> None:
        await self._register()
        self._begun.set()
        self._loop.start()
        working = asyncio.wrap_future(self._loop.submit(self._slots.work()))
        stop_listening = self._bus.listen(self)
        beating = asyncio.create_task(self._beats(), name="heartbeats")
        watching = asyncio.create_task(self._watchdog.run(), name="watchdog")
        try:
            await self._until_drain_or_fault(working, beating, watching)
            await self._drain(working)
        finally:
            stop_listening()
            await self._close(watching, beating)

    # What the bus tells

    def committed(self, news: Committed) -> None:
        """Somebody asked for a cancel: the next heartbeat, at once, says who and why."""
        if any(task_id in self._slots.running for task_id in news.cancels):
            self._beat_now.set()

    def token(self, task_id: str, token: Token) -> None:
        """Not of interest here."""

    def missed(self) -> None:
        """A cancel may have been asked: a heartbeat finds it."""
        self._beat_now.set()

    async def _until_drain_or_fault(self, *loops: "asyncio.Future[None]") -> None:
        asked: asyncio.Future[Any] = asyncio.ensure_future(self._drain_asked.wait())
        everything: set[asyncio.Future[Any]] = {asked, *loops}
        done, _ = await asyncio.wait(everything, return_when=asyncio.FIRST_COMPLETED)
        if asked not in done:
            asked.cancel()
            ended = next(iter(done))
            fault = None if ended.cancelled() else ended.exception()
            _log.critical("a loop of the worker has ended; it is replaced", exc_info=fault)
            self._watchdog.stuck = True
            self.drain()

    async def _register(self) -> None:
        self._slots.worker_id = str(uuid7())
        record = WorkerRecord(
            id=self._slots.worker_id,
            name=f"{socket.gethostname()}:{os.getpid()}",
            lanes=tuple(self._options.lanes),
            types=tuple(self._app.types),
            slots=self._options.slots,
            version=self._options.version,
            versions=self._app.versions,
        )
        asked_at = time.monotonic()
        await self._store.register(record)
        self._loop.call(self._lease.renewed, asked_at)

    async def _beats(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._options.heartbeat):
                    await self._beat_now.wait()
            self._beat_now.clear()
            try:
                await self._beat()
            except StoreBroken as error:
                _log.critical("this process will be replaced: %s", error)
                self._watchdog.stuck = True
                self.hurry()
                self.drain()
            except Retryable as error:
                _log.warning("a heartbeat was not taken: %s", error)

    async def _beat(self) -> None:
        asked_at = time.monotonic()
        beat = await self._store.beat(self._slots.worker_id, self.state)
        if beat.known:
            self._loop.call(self._lease.renewed, asked_at)
        else:
            _log.warning("this worker was thought dead; it begins anew and drops what it ran")
            for lost in tuple(self._slots.running.values()):
                self._watchdog.tell(lost, Stop(Why.LOST))
            await self._register()
        for task_id, request in beat.cancels:
            running = self._slots.running.get(task_id)
            if running is not None:
                self._watchdog.tell(running, Stop(Why.CANCEL, request))
            else:
                self._loop.call(self._slots.hurry, task_id)

    async def _drain(self, working: "asyncio.Future[None]") -> None:
        self._loop.call(self._slots.drain)
        if not self._watchdog.stalled:
            await asyncio.wait([working], timeout=SETTLE)
            await self._until_settled(self._options.drain_grace, hurried=lambda: self._hurried)
            self._loop.call(self._slots.unwind)
            await self._until_settled(LAST_WORDS)
        for running in tuple(self._slots.running.values()):
            if not running.handled and not running.abandoned:
                self._watchdog.stuck = True
                await self._watchdog.settle_for(running, self._reason(running))

    def _reason(self, running: Running) -> Stop:
        # Behind a loop that somebody else blocks nobody could be in time.
        asked = running.asked
        if asked is None or (asked.why is Why.TIMEOUT and self._watchdog.blocked):
            return Stop(Why.DRAIN)
        return asked

    async def _until_settled(
        self, seconds: float, hurried: Callable[[], bool] = lambda: False
    ) -> None:
        limit = time.monotonic() + seconds
        while time.monotonic() < limit and self._loop.alive and not hurried():
            waiting = [run for run in self._slots.running.values() if not run.abandoned]
            if not waiting and self._slots.unsettled <= self._abandoned():
                return
            await asyncio.sleep(_POLL)

    def _abandoned(self) -> int:
        return sum(running.abandoned for running in tuple(self._slots.running.values()))

    async def _close(self, watching: "asyncio.Task[None]", beating: "asyncio.Task[None]") -> None:
        await _end(watching)
        if self._loop.alive and not self._watchdog.blocked:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SETTLE):
                    await asyncio.wrap_future(self._loop.submit(self._executor.close()))
        await asyncio.to_thread(self._loop.stop)
        # The last to go: until all is given back, nobody may think this worker dead.
        await _end(beating)
        try:
            await self._store.retire(self._slots.worker_id)
        except Retryable as error:
            _log.warning("the worker could not say goodbye: %s", error)


async def _end(keeper: "asyncio.Task[None]") -> None:
    keeper.cancel()
    await asyncio.gather(keeper, return_exceptions=True)
