"""One claim that runs, and how it is told to end.

Everything here happens in the handlers' event loop. Why a claim must end decides how: what is in
flight may finish, or not; the stronger reason wins over the one that came first.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from stagepost.failure import Failure, FailureKind
from stagepost.gate import Gate
from stagepost.outcome import Cancelled, Drained, Failed, Outcome
from stagepost.records import Claimed
from stagepost.retry import Retry
from stagepost.task import CancelRequest
from stagepost.worker_lease import WorkerLease


class Why(IntEnum):
    """Why a claim must end, from the weakest reason to the strongest."""

    DRAIN = 1
    DEADLINE = 2
    CANCEL = 3
    TIMEOUT = 4
    LOST = 5


@dataclass(frozen=True, slots=True)
class Stop:
    """A reason to end a claim; `request` is who asked, for a cancel."""

    why: Why
    request: CancelRequest | None = None


class Running:
    """A claim, its gate and the asyncio task that runs it.

    `ends_at` is when its time-out is over and `deadline_at` its deadline, by the monotonic clock.
    `handled` is true once the handler has ended: from then on nothing can
    change how. `remote` tells a handler that runs in a child process. `abandoned` means that the
    handler could not be ended and somebody else has settled the claim.

    The main loop writes only `asked` and `asked_at`: what it has told the claim, and when first.
    """

    __slots__ = (
        "_hurried", "_landing", "abandoned", "asked", "asked_at", "asyncio_task", "began_at",
        "claim", "deadline_at", "ends_at", "gate", "handled", "remote", "stop", "worker_lease",
    )  # fmt: skip

    def __init__(
        self, claim: Claimed, now: float, timeout: float, worker_lease: WorkerLease | None = None
    ) -> None:
        self.claim = claim
        self.worker_lease = worker_lease
        self.began_at = now
        self.ends_at = now + timeout
        self.deadline_at = now + claim.time_left / 1000
        self.asked: Stop | None = None
        self.asked_at: float | None = None
        self.gate = Gate()
        self.gate.when_all_wait = self.unwind
        self.stop: Stop | None = None
        self.handled = False
        self.abandoned = False
        self.asyncio_task: asyncio.Task[None] | None = None
        self.remote: Callable[[Stop], None] | None = None
        self._landing: asyncio.Task[None] | None = None
        self._hurried = False

    def end(self, stop: Stop) -> None:
        """Tell the claim to end; a weaker reason than the one it has is ignored."""
        if self.handled or (self.stop is not None and self.stop.why >= stop.why):
            return
        self.stop = stop
        if stop.why >= Why.TIMEOUT:
            self.unwind()
        elif self.remote is not None:
            self.remote(stop)
        else:
            self.gate.close(self.unwind, patient=stop.why is Why.DRAIN)

    async def until_landed(self, landing: Coroutine[Any, Any, None]) -> None:
        """Let what the handler has in flight land, unless the worker has no time for it."""
        self._landing = asyncio.create_task(landing)
        if self._hurried:
            self._landing.cancel()
        await asyncio.wait([self._landing])

    def hurry(self) -> None:
        """The worker has no time left: wait for nothing that is in flight."""
        self._hurried = True
        if self._landing is not None:
            self._landing.cancel()

    def unwind(self) -> None:
        """End the handler at the point where it is."""
        if self.handled:
            return
        self.gate.unwind()
        if self.asyncio_task is not None:
            self.asyncio_task.cancel()


RUNNING: Final[ContextVar[Running]] = ContextVar("stagepost_running")
"""The claim whose handler, or branch of it, runs."""


def outcome_of(stop: Stop, claim: Claimed, retry: Retry, spread: float) -> Outcome | None:
    """How a claim that was told to end has ended; None if it has nothing left to settle."""
    match stop.why:
        case Why.DRAIN:
            return Drained()
        case Why.DEADLINE:
            late = Failure(FailureKind.DEADLINE, "The task was not done before its deadline.")
            return Failed(late, None)
        case Why.CANCEL:
            return Cancelled(stop.request or CancelRequest("system"))
        case Why.TIMEOUT:
            return timed_out(claim, retry, spread)
        case Why.LOST:
            return None


def timed_out(claim: Claimed, retry: Retry, spread: float) -> Failed:
    """An attempt that took longer than its type's time-out."""
    failure = Failure(FailureKind.TIMEOUT, "The attempt took longer than its time-out.")
    return failed(claim, failure, retry, spread)


def failed(claim: Claimed, failure: Failure, retry: Retry, spread: float) -> Failed:
    """A failure that is tried again as long as the type's Retry allows."""
    if claim.attempt >= claim.max_attempts:
        return Failed(failure, None)
    # A redrive raises max_attempts, so failures are counted from the last one.
    failures = max(1, retry.attempts - (claim.max_attempts - claim.attempt))
    return Failed(failure, retry.delay(failures, spread))
