"""The part of a worker that lives in the handlers' event loop: claims, and what runs of them."""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from stagepost.choice import LaneTurns
from stagepost.errors import LeaseLost, Retryable
from stagepost.executor import Executor
from stagepost.insisting import insist
from stagepost.outcome import Drained
from stagepost.records import Claimed, Demand
from stagepost.registry import App
from stagepost.running import Running, Stop, Why
from stagepost.store import Store
from stagepost.worker_lease import WorkerLease

_log = logging.getLogger("stagepost.worker")

_CLAIM: Final = 512  # tasks that one claim asks for; more are asked for while these run
_CLAIM_WAIT: Final = 0.25  # seconds that a claim stands in the store; bounds how long a drain takes
_PAUSE: Final = 1.0  # seconds before another try when the store can't be used
_UNSETTLED: Final = 4  # times the slots: so many outcomes may wait for the store


class Slots:
    """Claims as many tasks as it has free slots and runs each in an asyncio task.

    A slot is free again as soon as its handler has ended; its outcome is settled beside the next
    handler. While claims come back full, the next one is asked for before the last is answered, so
    that the store does not stand still meanwhile. Everything but the reading of `running` and
    `unsettled` happens in the handlers' loop.
    """

    def __init__(
        self,
        app: App,
        store: Store,
        executor: Executor,
        weights: Mapping[str, int],
        count: int,
        lease: WorkerLease,
    ) -> None:
        self.worker_id = ""
        self.lease = lease
        self.running: dict[str, Running] = {}
        """By task id: the claims whose handlers have not ended."""
        self._types = app.types
        self._names = tuple(app.types)
        self._limits = {
            name: known.concurrency for name, known in app.types.items() if known.concurrency
        }
        self._versions = app.versions
        self._store = store
        self._executor = executor
        self._turns = LaneTurns(weights)
        self._count = count
        self._open: set[Running] = set()
        self._returning: set[asyncio.Task[None]] = set()
        self._asked = 0
        """Slots of claims that are not answered yet."""
        self._ahead: _Asked | None = None
        self._busy = False
        self._freed = asyncio.Event()
        self._draining = False
        self._working = True

    @property
    def unsettled(self) -> int:
        """How many claims are not settled yet."""
        return len(self._open) + len(self._returning)

    async def work(self) -> None:
        """Claim and run until told to drain."""
        try:
            while self._ahead is not None or not self._draining:
                try:
                    await self._turn()
                except asyncio.CancelledError:
                    if self._draining:
                        raise
                    _go_on()
        finally:
            self._working = False
            self._end_all()

    async def _turn(self) -> None:
        asked, self._ahead = self._ahead or self._ask(), None
        if asked is None:
            self._freed.clear()
            await self._freed.wait()
            return
        if self._busy and not self._draining:
            self._ahead = self._ask()
        try:
            await self._begin(asked)
        except Retryable as error:
            self._busy = False
            _log.warning("no tasks are claimed for a moment: %s", error)
            await asyncio.sleep(_PAUSE)

    def drain(self) -> None:
        """Claim no more, and tell all that runs to end as soon as it may.

        Only once the last claim is answered: it would take what was just given back.
        """
        self._draining = True
        self._freed.set()
        if not self._working:
            self._end_all()

    def _end_all(self) -> None:
        for running in tuple(self.running.values()):
            running.end(Stop(Why.DRAIN))
        _log.info("%d running tasks are to stop at their next checkpoint", len(self.running))

    def hurry(self, task_id: str) -> None:
        """A task's handler has ended; it is settled without what it still has in flight."""
        for running in tuple(self._open):
            if running.claim.task_id == task_id:
                running.hurry()

    def unwind(self) -> None:
        """End all that runs, at the point where it is."""
        for running in tuple(self._open):
            running.hurry()
        for running in tuple(self.running.values()):
            running.unwind()

    def _ask(self) -> "_Asked | None":
        slots = min(_CLAIM, self._count - len(self.running) - self._asked)
        if slots <= 0 or len(self._open) >= self._count * _UNSETTLED:
            return None
        demand = Demand(
            self.worker_id, slots, self._turns, self._names, self._limits, self._versions
        )
        claims = asyncio.ensure_future(self._store.claim(demand, wait=_CLAIM_WAIT))
        self._asked += slots
        return _Asked(slots, claims)

    async def _begin(self, asked: "_Asked") -> None:
        try:
            claims = await asked.claims
        finally:
            self._asked -= asked.slots
        self._busy = len(claims) == _CLAIM
        for claim in claims:
            if self._draining:
                returning = asyncio.create_task(self._give_back(claim), name="give back")
                self._returning.add(returning)
                returning.add_done_callback(self._returning.discard)
            else:
                self._start(claim)

    def _start(self, claim: Claimed) -> None:
        timeout = self._types[claim.type].timeout
        running = Running(claim, time.monotonic(), timeout, self.lease)
        self.running[claim.task_id] = running
        self._open.add(running)
        # Made plainly, past the loop's task factory: nothing on every task's path may cost more.
        run = self._executor.run(running, self)
        running.asyncio_task = asyncio.Task(run, loop=asyncio.get_running_loop())

    # What the executor tells

    def handled(self, running: Running) -> None:
        """A handler has ended: its slot is free."""
        if self.running.get(running.claim.task_id) is running:
            del self.running[running.claim.task_id]
        self._freed.set()

    def closed(self, running: Running) -> None:
        """A claim is settled, or left to the rescuer."""
        self._open.discard(running)
        # The asyncio task knows the claim and the claim its asyncio task: a ring that would keep
        # both until the next garbage collection.
        running.asyncio_task = None
        self._freed.set()

    async def _give_back(self, claim: Claimed) -> None:
        try:
            await insist(lambda: self._store.settle(claim.lease, Drained()))
        except LeaseLost as error:
            _log.info("%s", error)


class _Asked(NamedTuple):
    """A claim on its way, and how many slots it may fill."""

    slots: int
    claims: "asyncio.Future[Sequence[Claimed]]"


def _go_on() -> None:
    # Somebody's code has cancelled every asyncio task in the loop, as programs do at their end. It
    # must not have the whole process replaced, again at each of its attempts.
    _log.error("a handler has cancelled asyncio tasks that are not its own; the worker goes on")
    current = asyncio.current_task()
    if current is not None:
        current.uncancel()
