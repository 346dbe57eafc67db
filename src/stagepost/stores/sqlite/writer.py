"""One thread that writes, in group commits.

Callers on any event loop put an *intent* into a bounded queue and await its own result. The thread
takes whatever has gathered while it was busy, applies it in one transaction, commits with a sync,
and only then answers, once a batch for each event loop. There is no timer: at low load a batch is
one intent, under load it is hundreds.

Within a transaction intents are applied in the order of their kinds, and in arrival order within a
kind. If the batch can't be applied as groups it is undone and applied once more with a savepoint
for each intent, so that one that can't be applied harms no neighbour.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import apsw

from stagepost.bus import Committed
from stagepost.clock import Clock
from stagepost.errors import QueueFull, StoreBroken, StoreUnavailable
from stagepost.stores.handover import hand_over
from stagepost.stores.sqlite import batches, keyed, refusals
from stagepost.stores.sqlite.checkpointer import Checkpointer
from stagepost.stores.sqlite.folder import Place
from stagepost.stores.sqlite.intents import Inbox, Intent, Kind
from stagepost.stores.sqlite.transaction import (
    Results,
    Transaction,
    apply_grouped,
    apply_singly,
)

_log = logging.getLogger("stagepost.store")

_CLOSING: Final = "The store is closing; try again in a moment."
_END_LIMIT: Final = 60.0  # seconds

Apply = Callable[[Transaction, list[Any]], Sequence[Any]]
Undo = Callable[[Any], Iterable[Intent]]


class Writer:
    """The thread, and what callers put before it."""

    def __init__(
        self,
        connection: apsw.Connection,
        clock: Clock,
        committed: Callable[[Committed], None],
        checkpointer: Checkpointer,
        place: Place,
    ) -> None:
        self._connection = connection
        self._clock = clock
        self._committed = committed
        self._checkpointer = checkpointer
        self._place = place
        self._inbox = Inbox()
        self._standing: list[Intent] = []  # claims that found nothing yet
        self._running: dict[str, tuple[str, str]] = {}
        self._held_back = False
        self._freed = False  # claims have let something into the pool that others of them may take
        self._closing = False
        self._ended = False
        self.broken: str | None = None
        """Why nothing is written any more, until a restart."""
        self._last_now = 0
        self._thread = threading.Thread(target=self._run, name="stagepost-writer", daemon=True)
        self._thread.start()

    async def call(
        self,
        kind: Kind,
        apply: Apply,
        argument: Any,
        size: int = 0,
        *,
        wait: float = 0.0,
        undo: Undo | None = None,
    ) -> Any:
        """Put an intent and await its result. Waits for room, at most 30 s.

        `wait`, in seconds, is for claims. A caller that is cancelled may leave a write behind that
        is done all the same, unless `undo` takes it back.
        """
        until = time.monotonic() + wait if wait else 0.0
        if self._inbox.full(size):
            await self._inbox.room(size)
        # Nothing can come between the room found and the put, but for another loop's thread: then
        # the queue is longer by one for each loop, which bounds it as well.
        future = self.put_anyway(kind, apply, argument, size, until, undo)
        try:
            return await future
        except asyncio.CancelledError:
            if undo is not None and future.done() and not future.cancelled():
                # It was handed over, and the caller was cancelled before it could take it.
                self._take_back([(Intent(kind, apply, argument, undo=undo), _outcome(future))])
            raise

    def put(self, kind: Kind, apply: Apply, argument: Any, size: int = 0) -> "asyncio.Future[Any]":
        """Put an intent; the future has its result once it is committed, or QueueFull."""
        if self._inbox.full(size):
            future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            future.set_exception(
                QueueFull("Too much is waiting to be written; try again in a moment.")
            )
            return future
        return self.put_anyway(kind, apply, argument, size)

    def put_anyway(
        self,
        kind: Kind,
        apply: Apply,
        argument: Any,
        size: int = 0,
        until: float = 0.0,
        undo: Undo | None = None,
    ) -> "asyncio.Future[Any]":
        """Put an intent whose number something else bounds, whether there is room or not."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self._closing or self.broken is not None:
            future.set_exception(self._no_more_writes())
            return future
        self._inbox.put(Intent(kind, apply, argument, size, future, until, undo))
        if self._ended:
            # The thread may have ended between the check and the put.
            self._turn_away()
        return future

    def end(self) -> None:
        """Commit what is queued, then end the thread. Blocks, at most a minute."""
        self._closing = True
        self._inbox.wake()
        self._thread.join(_END_LIMIT)
        if self._thread.is_alive():
            raise StoreUnavailable("The store's disk has not answered for a minute.")

    @property
    def now(self) -> int:
        """The store's time: the clock may be set back, this may not."""
        return max(self._last_now, self._clock.now())

    def _no_more_writes(self) -> StoreUnavailable:
        return StoreUnavailable(_CLOSING) if self.broken is None else StoreBroken(self.broken)

    # Below here everything runs in the writer's thread.

    def _run(self) -> None:
        while not self._closing or self._inbox:
            self._inbox.wait(self._patience())
            batch = self._inbox.take()
            if batch or self._standing:
                self._write(batch)
        self._ended = True
        self._turn_away()

    def _turn_away(self) -> None:
        while self._inbox:
            self._answer([(intent, StoreUnavailable(_CLOSING)) for intent in self._inbox.take()])
        standing, self._standing = self._standing, []
        self._answer([(intent, ()) for intent in standing])

    def _patience(self) -> float | None:
        if not self._standing:
            return None
        if self._freed:
            return 0.0
        return max(0.0, min(intent.until for intent in self._standing) - time.monotonic())

    def _write(self, batch: list[Intent]) -> None:
        claims = [intent for intent in batch if intent.kind is Kind.CLAIM]
        others = [intent for intent in batch if intent.kind is not Kind.CLAIM]
        self._standing = [intent for intent in self._standing + claims if not intent.abandoned]
        try:
            results = self._commit(others, claims) if batch or self._freed else []
        except Exception as error:  # noqa: BLE001  # the thread must outlive any intent
            _log.exception("the writer failed")
            results = self._refuse(others + self._standing, error)
        self._answer(results + self._end_patience({id(intent) for intent, _ in results}))

    def _commit(self, others: list[Intent], claims: list[Intent]) -> Results:
        if self.broken is not None:
            return self._refuse(others + self._standing, StoreBroken(self.broken))
        try:
            self._place.check()
            transaction, results = self._transact(apply_grouped, others, claims)
        except StoreUnavailable as error:
            return self._refuse(others + self._standing, error)
        except Exception as error:  # noqa: BLE001  # told to whom it concerns
            if refusals.concerns_all(error):
                return self._refuse(others + self._standing, error)
            _log.warning("a batch is applied one by one: %s", refusals.reason(error))
            transaction, results = self._transact(apply_singly, others, claims)
        self._ring(transaction)
        self._checkpointer.after_commit(self._connection)
        self.broken = self._checkpointer.broken
        return results

    def _transact(
        self,
        apply: Callable[[Transaction, Sequence[Intent]], Results],
        others: list[Intent],
        claims: list[Intent],
    ) -> tuple[Transaction, Results]:
        self._last_now = self.now
        transaction = Transaction(self._connection, self._last_now, self._running)
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            results = apply(transaction, others)
            batches.tell_parents(transaction)
            keyed.hand_over(transaction)
            # What a rule held back may start once something else has ended.
            anew = transaction.pooled or self._held_back or self._freed
            wanting = self._standing if anew else claims
            transaction.pooled = False
            served = apply(transaction, [intent for intent in wanting if not intent.abandoned])
            # Of children that claims have found too late.
            batches.tell_parents(transaction)
            keyed.hand_over(transaction)
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        if wanting:
            self._held_back = transaction.held_back
        self._freed = transaction.pooled
        # A claim that found nothing is not answered yet.
        return transaction, results + [(intent, found) for intent, found in served if found]

    def _refuse(self, intents: list[Intent], error: Exception) -> Results:
        told = refusals.refusal(error)
        if refusals.breaks(error) or self._connection.in_transaction:
            self.broken = str(told)
            _log.critical("the store takes no more writes: %s", told, exc_info=error)
        _log.error("%d writes were refused: %s", len(intents), told)
        # An exception for each, since whoever raises one hangs its own traceback on it.
        refused = StoreBroken if self.broken is not None else StoreUnavailable
        return [(intent, refused(str(told))) for intent in intents]

    def _ring(self, transaction: Transaction) -> None:
        if not (transaction.events or transaction.cancels):
            return
        try:
            self._committed(Committed(transaction.events, transaction.cancels, transaction.counts))
        except Exception:  # noqa: BLE001  # what is committed is committed
            _log.exception("the doorbells of a commit failed")

    def _end_patience(self, answered: set[int]) -> Results:
        moment = time.monotonic()
        left = [intent for intent in self._standing if id(intent) not in answered]
        self._standing = [intent for intent in left if intent.until > moment]
        return [(intent, ()) for intent in left if intent.until <= moment]

    def _answer(self, results: Results) -> None:
        hand_over(results, self._take_back)

    # In the caller's event loop again, or in the writer's thread.

    def _take_back(self, answers: Results) -> None:
        for intent, result in answers:
            if intent.undo is not None and not isinstance(result, BaseException):
                for undoing in intent.undo(result):
                    self._inbox.put(undoing)


def _outcome(future: "asyncio.Future[Any]") -> Any:
    return future.exception() or future.result()
