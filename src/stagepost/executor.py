"""One claim, from its start to its settlement.

How a claim ends is an Outcome; the handler's exceptions become one here and nowhere else.
"""

import asyncio
import logging
import os
import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, Protocol, TypeGuard

from stagepost.blobs import Blobs
from stagepost.body_codec import PLAIN, BodyCodec
from stagepost.bus import Bus
from stagepost.child.frames import RunHandler, has_name, name_of
from stagepost.child.process import ChildDied, Children
from stagepost.child_pages import ChildPages
from stagepost.claim_calls import ClaimCalls
from stagepost.claim_journal import ClaimJournal
from stagepost.context import Context, Facts
from stagepost.errors import CodeChanged, LeaseLost, Retryable, Terminal
from stagepost.failure import REACTIONS, Failure, FailureKind, Then, classify
from stagepost.insisting import insist
from stagepost.learning import Learner
from stagepost.lifecycle import died
from stagepost.limiting import Limiting
from stagepost.llm.asking import Asking
from stagepost.offloading import inline
from stagepost.outcome import Drained, Failed, Outcome, Succeeded, Waiting
from stagepost.records import Claimed
from stagepost.registry import App
from stagepost.retry import park_delay
from stagepost.running import RUNNING, Running, Why, failed, outcome_of
from stagepost.store import Store
from stagepost.task_type import TaskType
from stagepost.threads import Threads
from stagepost.waiting import BudgetTurns, Condition, LimitFree

_log = logging.getLogger("stagepost.executor")

THREADS: Final = 64
"""Sync steps that run at the same time in one worker."""


class Watcher(Protocol):
    """Who wants to know how far a claim is."""

    def handled(self, running: Running) -> None:
        """Its handler has ended."""
        ...

    def closed(self, running: Running) -> None:
        """It is settled, or left to the rescuer."""
        ...


class Executor:
    """Runs claims in the handlers' event loop.

    Children go to one of `lanes`; none given: to any.
    """

    def __init__(
        self,
        app: App,
        store: Store,
        blobs: Blobs,
        bus: Bus,
        learner: Learner,
        lanes: Collection[str] = (),
        limiting: Limiting | None = None,
        asking: Asking | None = None,
        codec: BodyCodec = PLAIN,
    ) -> None:
        self._app = app
        self._learner = learner
        self._store = store
        self._blobs = blobs
        self._bus = bus
        self._limiting = limiting
        self._asking = asking
        self._codec = codec
        self._children = Children()
        self._pages = ChildPages(app, store, lanes)
        self._threads = Threads(THREADS)
        # More processes than cores make no CPU step faster.
        self._cores = asyncio.Semaphore(os.cpu_count() or 1)

    async def run(self, running: Running, watcher: Watcher) -> None:
        """Run the handler, then settle the claim; the watcher is told of both."""
        RUNNING.set(running)
        calls = self._calls(running.claim)
        journal = ClaimJournal(
            running.claim,
            self._store,
            self._blobs,
            self._bus,
            self._pages,
            self._limiting,
            running.worker_lease,
            calls,
            self._codec,
        )
        try:
            try:
                outcome = await self._attempt(running, journal)
            finally:
                running.handled = True
                watcher.handled(running)
                if journal.limits is not None:
                    await journal.limits.let_go()
            if calls is not None and _comes_back(outcome):
                outcome = await _landed(running, calls, outcome)
            if outcome is not None and not running.abandoned:
                settled = await self._settle(running.claim, journal, outcome)
                if settled and calls is not None and not _comes_back(outcome):
                    await calls.over()
                if type(outcome) is Succeeded:
                    self._learner.saw(running.claim, running.began_at, time.monotonic())
                    if calls is not None and calls.any:
                        await self._learner.paid(running.claim)
        finally:
            if calls is not None:
                calls.close()
            watcher.closed(running)

    async def close(self) -> None:
        """End the children, and calls to models; threads that hang are left behind."""
        await self._children.close()
        if self._asking is not None:
            await self._asking.close()

    # A runner for the context

    async def in_thread(self, call: Callable[[], Any], timeout: float | None) -> Any:
        """Run a sync step in a thread, with the scope of its caller."""
        return await self._threads.run(call, timeout)

    async def in_process(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        timeout: float | None,
    ) -> Any:
        """Run a CPU-bound step in a child, as soon as a core is free for it."""
        async with self._cores, asyncio.timeout(timeout):
            return await self._children.run_function(fn, args, kwargs)

    def _calls(self, claim: Claimed) -> ClaimCalls | None:
        if self._asking is None:
            return None
        holds = self._app.types[claim.type].holds_unknown
        return ClaimCalls(claim, self._store, self._asking, hold=holds)

    async def _attempt(self, running: Running, journal: ClaimJournal) -> Outcome | None:
        claim = running.claim
        task_type = self._app.types[claim.type]
        try:
            _check_version(claim, task_type)
            if task_type.killable or (claim.lost_claims and _can_be_alone(claim, task_type)):
                outcome = await self._in_child(running, journal, task_type)
            else:
                outcome = await self._here(running, journal, task_type)
        except BaseException as error:  # every end of a handler is an outcome
            if isinstance(error, GeneratorExit) and not _executes(running):
                raise  # its event loop has closed around it
            return self._ended(running, journal, task_type, error)
        if running.gate.unwinding:
            # It was told to end and swallowed that: what it returned is not to be trusted.
            _forget_cancels()
            return _outcome_of_unwinding(running, task_type, running.gate.parked)
        return outcome

    async def _here(self, running: Running, journal: ClaimJournal, task_type: TaskType) -> Outcome:
        claim = running.claim
        context = Context(claim, journal, running.gate, self)
        request = task_type.load(claim.input)
        value = await context.call_handler(task_type.handler, request, running.asyncio_task)
        # A handler that has returned wins over whoever wants to end it from now on.
        running.handled = not running.gate.unwinding
        text = task_type.dump_result(value)
        return Succeeded(inline(text) or await journal.payload(text))

    async def _in_child(
        self, running: Running, journal: ClaimJournal, task_type: TaskType
    ) -> Outcome | None:
        claim = running.claim
        work = RunHandler(name_of(task_type.handler), claim.type, _facts(claim), claim.input)
        child = await self._children.take()
        telling: list[asyncio.Task[None]] = []
        running.remote = lambda stop: telling.append(asyncio.create_task(child.end(stop)))
        try:
            if running.stop is not None:
                return _outcome_of_unwinding(running, task_type)
            done = await child.run_handler(work, journal)
            running.handled = not done.unwound
        finally:
            running.remote = None
            if running.stop is not None or telling:
                # What was told to end may still run on in there.
                await asyncio.shield(child.kill())
            self._children.give_back(child)
        if done.unwound:
            return _outcome_of_unwinding(running, task_type, done.parked)
        if done.failure is not None:
            return reaction(claim, task_type, done.failure)
        return Succeeded(await journal.payload(done.result or "null"))

    def _ended(
        self, running: Running, journal: ClaimJournal, task_type: TaskType, error: BaseException
    ) -> Outcome | None:
        claim = running.claim
        if isinstance(error, ChildDied) and running.stop is None:
            if journal.progressed:
                return Drained("rescued")
            return died(claim.lost_claims, claim.attempt, claim.max_attempts)
        if running.stop is not None or running.gate.unwinding:
            _forget_cancels()
            return _outcome_of_unwinding(running, task_type, running.gate.parked)
        failure = classify(error)
        if failure.kind is FailureKind.BUG:
            _log.error("task %s failed", claim.task_id, exc_info=error, extra=_marks(claim))
        return reaction(claim, task_type, failure)

    async def _settle(self, claim: Claimed, journal: ClaimJournal, outcome: Outcome) -> bool:
        """Whether it is settled as it should be."""
        note = None if journal.close_now() else await journal.close()
        lease = journal.lease
        try:
            try:
                await self._store.settle(lease, outcome, note)
            except Retryable:
                await insist(lambda: self._store.settle(lease, outcome, note))
        except LeaseLost as error:
            _log.warning("%s", error, extra=_marks(claim))
        except Terminal as error:
            # Left as it is, it would run for ever: nobody takes the claim from a living worker.
            _log.critical("the end of a task can't be kept", exc_info=error, extra=_marks(claim))
            await self._refuse(claim)
        else:
            return True
        return False

    async def _refuse(self, claim: Claimed) -> None:
        failure = Failure(FailureKind.BUG, "The task's result can't be kept.")
        try:
            await insist(lambda: self._store.settle(claim.lease, Failed(failure, None)))
        except LeaseLost as error:
            _log.warning("%s", error, extra=_marks(claim))


def _check_version(claim: Claimed, task_type: TaskType) -> None:
    # No store gives such a task; to run it all the same would mix two versions' steps.
    if claim.code_version not in task_type.versions:
        raise CodeChanged(
            f"The task was begun with version {claim.code_version} of {claim.type}, which this "
            "worker does not run. Redrive it fresh, or start a worker that accepts this version."
        )


def _executes(running: Running) -> bool:
    """Whether its own asyncio task is what the event loop executes at this moment."""
    try:
        return asyncio.current_task() is running.asyncio_task
    except RuntimeError:  # no event loop runs
        return False


def _outcome_of_unwinding(
    running: Running, task_type: TaskType, parked: tuple[Condition, ...] = ()
) -> Outcome | None:
    # A drain that finds every branch waiting has nothing to hand on to another worker.
    if parked and (running.stop is None or running.stop.why is Why.DRAIN):
        return Waiting(parked)
    # Without a reason to stop, the gate was unwound because the lease is lost.
    if running.stop is None:
        return None
    spread = random.random()  # noqa: S311  # only spreads
    return outcome_of(running.stop, running.claim, task_type.retry, spread)


def reaction(claim: Claimed, task_type: TaskType, failure: Failure) -> Outcome:
    """What follows from a failure: another try, a wait, or dead letter."""
    spread = random.random()  # noqa: S311  # only spreads
    match REACTIONS[failure.kind].then:
        case Then.RETRY:
            return failed(claim, failure, task_type.retry, spread)
        case Then.PARK:
            delay = park_delay(claim.waits, failure.retry_after, spread)
            kind = BudgetTurns if failure.kind is FailureKind.BUDGET else LimitFree
            return Waiting((kind(failure.message[:200], delay),))
        case Then.DEAD_LETTER:
            return Failed(failure, None)


def _comes_back(outcome: Outcome | None) -> TypeGuard[Failed | Drained | Waiting]:
    """Whether another claim of the task may follow by itself."""
    match outcome:
        case Failed(delay=None, lost=False):
            return False
        case Failed() | Drained() | Waiting():
            return True
    return False


async def _landed(running: Running, calls: ClaimCalls, outcome: Outcome) -> Outcome:
    """The same outcome once the claim's calls are back, so that the next claim finds them.

    If a process has died around a call that was answered, the task has come further by it.
    """
    await running.until_landed(calls.landing())
    if isinstance(outcome, Failed) and outcome.lost and calls.progressed:
        return Drained("rescued")
    return outcome


def _facts(claim: Claimed) -> Facts:
    return Facts(
        claim.task_id, claim.tenant, claim.user, claim.type, claim.attempt, claim.trace_id,
        claim.waits, claim.code_version,
    )  # fmt: skip


def _marks(claim: Claimed) -> dict[str, str]:
    return {"taskId": claim.task_id, "traceId": claim.trace_id}


def _can_be_alone(claim: Claimed, task_type: TaskType) -> bool:
    if has_name(task_type.handler):
        return True
    _log.warning(
        "task %s was in a worker that died, but its handler is no function of a module and can't "
        "run in a process of its own",
        claim.task_id,
        extra=_marks(claim),
    )
    return False


def _forget_cancels() -> None:
    # The handler was cancelled; what follows in the same asyncio task must not count as such.
    current = asyncio.current_task()
    while current is not None and current.cancelling():
        current.uncancel()
