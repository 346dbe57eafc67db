"""One thread that writes, in group commits.

Callers on any event loop put an *intent* into a bounded queue and await its own result. The thread
takes whatever has gathered while it was busy, applies it in one transaction, commits with a sync,
and only then answers, once a batch for each event loop. There is no timer: at low load a batch is
one intent, under load it is hundreds.

Within a transaction intents are applied in the order of their kinds, and in arrival order within a
kind. If the batch fails as a whole, it is undone and each intent is tried in a transaction of its
own, so that one that can't be applied harms no neighbour.
"""

import asyncio
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

import apsw

from stagepost.bus import Committed
from stagepost.clock import Clock
from stagepost.errors import QueueFull, StoreUnavailable, Unwritable
from stagepost.stores.sqlite.checkpointer import Checkpointer

_log = logging.getLogger("stagepost.store")

MOST_INTENTS: Final = 10_000
MOST_BYTES: Final = 64 * 1024 * 1024
_SMALL: Final = 4_096  # bytes; a smaller intent is bounded by the count alone
_BATCH: Final = 2_000
_ROOM_POLL: Final = 0.005  # seconds
_ROOM_LIMIT: Final = 30.0  # seconds
_LASTING: Final = (
    TypeError, ValueError, OverflowError,
    apsw.ConstraintError, apsw.MismatchError, apsw.TooBigError,
)  # fmt: skip


class Kind(IntEnum):
    """The order within a transaction. Claims come last, so they see what the batch queued."""

    LIFE = 0  # register, beat, retire, rescue
    SETTLE = 1
    CHANGE = 2  # cancel, redrive, due times
    SUBMIT = 3
    STEP = 4
    PROGRESS = 5
    CLAIM = 6


_URGENCY: Final = (
    (Kind.LIFE, Kind.CLAIM, Kind.SETTLE),
    (Kind.SUBMIT, Kind.CHANGE),
    (Kind.STEP,),
    (Kind.PROGRESS,),
)
"""Whose intents are taken first when more wait than a batch holds."""


class Transaction:
    """What the appliers of one batch share."""

    def __init__(self, connection: apsw.Connection, now: int) -> None:
        self.connection = connection
        self.now = now
        self.events: list[tuple[str, int]] = []
        self.cancels: list[str] = []
        self.counts: Counter[tuple[str, str, str]] = Counter()
        """Facts by (type, lane, kind); see Committed."""
        self.pooled = False
        """Set when something was put into the pool."""

    def execute(self, statement: str, bindings: Sequence[Any] = ()) -> None:
        """Run a statement whose rows nobody wants."""
        self.connection.execute(statement, bindings)

    def rows(self, statement: str, bindings: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and take all its rows."""
        return self.connection.execute(statement, bindings).fetchall()

    def row(self, statement: str, bindings: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """Run a statement and take its first row."""
        return self.connection.execute(statement, bindings).fetchone()


Apply = Callable[[Transaction, list[Any]], Sequence[Any]]
"""Applies the arguments of a group of intents; a result that is an exception is raised."""


@dataclass(slots=True, eq=False)
class Intent:
    """One caller's wish. `apply` is shared by all that can be applied as one group."""

    kind: Kind
    apply: Apply
    argument: Any
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"
    size: int = 0
    until: float = 0.0
    """For claims: the monotonic time up to which an empty answer is held back."""


@dataclass(slots=True)
class _Answers:
    """Results by event loop, delivered with one call each."""

    by_loop: dict[asyncio.AbstractEventLoop, list[tuple["asyncio.Future[Any]", Any]]] = field(
        default_factory=dict
    )

    def add(self, intent: Intent, result: Any) -> None:
        self.by_loop.setdefault(intent.loop, []).append((intent.future, result))

    def deliver(self) -> None:
        for loop, answers in self.by_loop.items():
            try:
                loop.call_soon_threadsafe(_resolve, answers)
            except RuntimeError:
                # The loop was closed: nobody is left there to be told.
                _log.debug("%d answers came after their event loop had closed", len(answers))


def _resolve(answers: list[tuple["asyncio.Future[Any]", Any]]) -> None:
    for future, result in answers:
        if future.done():
            continue
        if isinstance(result, BaseException):
            future.set_exception(result)
        else:
            future.set_result(result)


class Writer:
    """The queue and its thread."""

    def __init__(
        self,
        connection: apsw.Connection,
        clock: Clock,
        committed: Callable[[Committed], None],
        checkpointer: Checkpointer,
    ) -> None:
        self._connection = connection
        self._clock = clock
        self._committed = committed
        self._checkpointer = checkpointer
        self._queues: dict[Kind, deque[Intent]] = {kind: deque() for kind in Kind}
        self._standing: list[Intent] = []  # claims that found nothing yet
        self._bytes = 0
        self._bytes_lock = threading.Lock()
        self._news = threading.Event()
        self._closing = False
        self._broken: str | None = None
        self._last_now = 0
        self._thread = threading.Thread(target=self._run, name="stagepost-writer", daemon=True)
        self._thread.start()

    async def call(self, kind: Kind, apply: Apply, argument: Any, size: int = 0) -> Any:
        """Put an intent and await its result. Waits for room, at most 30 s."""
        if self._full(size):
            await self._room(size)
        return await self.put(kind, apply, argument, size)

    def put(
        self, kind: Kind, apply: Apply, argument: Any, size: int = 0, wait: float = 0.0
    ) -> "asyncio.Future[Any]":
        """Put an intent; the future has its result once it is committed. Raises QueueFull."""
        if self._closing or self._broken is not None:
            raise StoreUnavailable(self._broken or "The store is closing; try again in a moment.")
        if self._full(size):
            raise QueueFull("Too much is waiting to be written; try again in a moment.")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        until = time.monotonic() + wait if wait else 0.0
        self._account(size)
        self._queues[kind].append(Intent(kind, apply, argument, loop, future, size, until))
        if not self._news.is_set():
            self._news.set()
        return future

    def close(self) -> None:
        """Commit what is queued, then end the thread. Blocks, at most a minute."""
        self._closing = True
        self._news.set()
        self._thread.join(60)
        self._connection.close()

    def _full(self, size: int) -> bool:
        if size > _SMALL and self._bytes + size > MOST_BYTES:
            return True
        return sum(map(len, self._queues.values())) >= MOST_INTENTS

    async def _room(self, size: int) -> None:
        limit = time.monotonic() + _ROOM_LIMIT
        while self._full(size):
            if time.monotonic() > limit:
                raise StoreUnavailable("The store has not kept up for 30 s; its disk is too slow.")
            await asyncio.sleep(_ROOM_POLL)

    def _account(self, size: int) -> None:
        if abs(size) > _SMALL:
            with self._bytes_lock:
                self._bytes += size

    # Below here everything runs in the writer's thread.

    def _run(self) -> None:
        while not (self._closing and not any(self._queues.values())):
            self._news.wait(self._patience())
            self._news.clear()
            batch = self._take()
            if batch or self._standing:
                self._write(batch)
        answers = _Answers()
        for intent in self._standing:
            answers.add(intent, ())
        answers.deliver()

    def _patience(self) -> float | None:
        if any(self._queues.values()):
            return 0.0
        if not self._standing:
            return None
        return max(0.0, min(intent.until for intent in self._standing) - time.monotonic())

    def _take(self) -> list[Intent]:
        batch: list[Intent] = []
        for kinds in _URGENCY:
            for kind in kinds:
                queue = self._queues[kind]
                for _ in range(min(len(queue), _BATCH - len(batch))):
                    intent = queue.popleft()
                    self._account(-intent.size)
                    batch.append(intent)
        return batch

    def _write(self, batch: list[Intent]) -> None:
        answers = _Answers()
        claims = [intent for intent in batch if intent.kind is Kind.CLAIM]
        others = [intent for intent in batch if intent.kind is not Kind.CLAIM]
        self._standing += claims
        if batch:
            self._commit(others, answers, claims)
        self._end_patience(answers)
        answers.deliver()

    def _commit(self, batch: list[Intent], answers: _Answers, claims: list[Intent]) -> None:
        try:
            transaction, results = self._transact(batch, claims)
        except Exception as error:  # noqa: BLE001  # the thread must outlive any one intent
            self._recover(batch, answers, error)
            return
        for intent, result in results:
            answers.add(intent, result)
        self._checkpointer.after_commit(self._connection)
        if transaction.events or transaction.cancels:
            self._committed(Committed(transaction.events, transaction.cancels, transaction.counts))

    def _transact(
        self, batch: list[Intent], claims: list[Intent]
    ) -> tuple[Transaction, list[tuple[Intent, Any]]]:
        transaction = Transaction(self._connection, self._now())
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            results = _apply(transaction, batch)
            served = self._serve(transaction, self._standing if transaction.pooled else claims)
            self._connection.execute("COMMIT")
        except BaseException:
            self._undo()
            raise
        if served:
            done = {id(intent) for intent, _ in served}
            self._standing = [intent for intent in self._standing if id(intent) not in done]
        return transaction, results + served

    @staticmethod
    def _serve(transaction: Transaction, claims: list[Intent]) -> list[tuple[Intent, Any]]:
        served = []
        for intent in claims:
            claimed = intent.apply(transaction, [intent.argument])[0]
            if claimed:
                served.append((intent, claimed))
        return served

    def _undo(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _recover(self, batch: list[Intent], answers: _Answers, error: Exception) -> None:
        if isinstance(error, (apsw.IOError, apsw.CorruptError, apsw.NotADBError)):
            # After a failed sync nobody can say what is on the disk: only a restart can.
            self._broken = _reason(error)
            _log.critical("the store stops taking writes: %s", self._broken)
        alone = len(batch) + len(self._standing) == 1
        if alone or self._broken is not None or isinstance(error, apsw.FullError):
            self._refuse(batch + self._standing, answers, error)
            self._standing = []
            return
        claims, self._standing = self._standing, []
        for intent in batch:
            self._commit([intent], answers, [])
        unserved: list[Intent] = []
        for intent in claims:
            self._standing = [intent]
            self._commit([], answers, [intent])
            unserved += self._standing
        self._standing = unserved

    @staticmethod
    def _refuse(intents: list[Intent], answers: _Answers, error: Exception) -> None:
        _log.error("%d writes were refused: %s", len(intents), _reason(error), exc_info=error)
        # What another writer or the disk stands in the way of may be written later; a row that no
        # table takes will not.
        refusal = Unwritable if isinstance(error, _LASTING) else StoreUnavailable
        for intent in intents:
            answers.add(intent, refusal(_reason(error)))

    def _end_patience(self, answers: _Answers) -> None:
        moment = time.monotonic()
        waiting = []
        for intent in self._standing:
            if intent.until <= moment or self._broken is not None:
                answers.add(intent, ())
            else:
                waiting.append(intent)
        self._standing = waiting

    def _now(self) -> int:
        # The wall clock may be set back; the store's time may not.
        self._last_now = max(self._last_now, self._clock.now())
        return self._last_now


def _apply(transaction: Transaction, batch: list[Intent]) -> list[tuple[Intent, Any]]:
    groups: dict[tuple[Kind, Apply], list[Intent]] = {}
    for intent in batch:
        groups.setdefault((intent.kind, intent.apply), []).append(intent)
    results: list[tuple[Intent, Any]] = []
    for (_, apply), intents in sorted(groups.items(), key=lambda group: group[0][0]):
        outcomes = apply(transaction, [intent.argument for intent in intents])
        results.extend(zip(intents, outcomes, strict=True))
    return results


def _reason(error: Exception) -> str:
    match error:
        case apsw.FullError():
            return "The disk of the data folder is full; free some space and try again."
        case apsw.ReadOnlyError():
            return "The data folder has become read-only; make it writable and try again."
        case apsw.CorruptError() | apsw.NotADBError():
            return "The store's file is damaged; stop, and put a backup in its place."
        case apsw.IOError():
            return "The disk of the data folder failed; look at the system's log, then restart."
        case _:
            return f"The store could not write this ({type(error).__name__}: {error})."
