"""A queue of writes of one kind, and the loop that writes whatever has gathered, batch by batch.

Callers on any event loop put an *intent* and await its own result. While one batch is on the way
the next gathers: there is no timer, so at low load a batch is one intent, under load hundreds. Each
batch is one transaction; one that can't be written is halved until the intent at fault stands
alone, so that it harms no neighbour.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final

from stagepost.errors import StagepostError, StoreUnavailable
from stagepost.stores.postgres import refusals
from stagepost.stores.postgres.answers import CLOSING, Answers, Bell, Intent, Results
from stagepost.stores.postgres.aside import Aside

_log = logging.getLogger("stagepost.store")

MOST_INTENTS: Final = 10_000
MOST_BYTES: Final = 64 * 1024 * 1024
_BATCH: Final = 512
_BATCH_BYTES: Final = 16 * 1024 * 1024
_SMALL: Final = 4_096  # bytes; a smaller intent is bounded by the count alone
_ROOM_POLL: Final = 0.005  # seconds
_ROOM_LIMIT: Final = 30.0  # seconds
_END_LIMIT: Final = 60.0  # seconds


class Lane:
    """One queue and its loop.

    `write` is given a batch in arrival order and answers a result for each intent; what it raises
    is the fault of one of them or, by `refusals.is_callers`, of nobody in particular.
    `separate` picks the intents of a batch that have to wait for the next one; those that are
    set `aside` come again.
    """

    def __init__(
        self,
        name: str,
        home: asyncio.AbstractEventLoop,
        write: Callable[[list[Intent]], Awaitable[Results]],
        answers: Answers,
        *,
        separate: Callable[[list[Intent]], list[Intent]] | None = None,
        aside: Aside | None = None,
    ) -> None:
        self._home = home
        self._write = write
        self._separate = separate
        self._aside = aside
        if aside is not None:
            aside.send = self._again
        self._answers = answers
        self._waiting: deque[Intent] = deque()
        self._bytes = 0
        self._bytes_lock = threading.Lock()
        self._bell = Bell(home)
        self._closing = False
        self._loop = home.create_task(self._run(), name=f"store-{name}")
        """Ended by `close`."""

    def full(self, size: int) -> bool:
        """Whether an intent of so many bytes has no room."""
        if size > _SMALL and self._bytes + size > MOST_BYTES:
            return True
        return len(self._waiting) >= MOST_INTENTS

    async def room(self, size: int) -> None:
        """Wait until there is room for so many bytes; at most 30 s."""
        limit = time.monotonic() + _ROOM_LIMIT
        while self.full(size):
            if time.monotonic() > limit:
                raise StoreUnavailable("The database has not kept up for 30 s; it is too slow.")
            await asyncio.sleep(_ROOM_POLL)

    def put(self, argument: Any, size: int = 0) -> "asyncio.Future[Any]":
        """Queue an intent, whether there is room or not; the future has its result."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        if self._closing:
            future.set_exception(StoreUnavailable(CLOSING))
        else:
            self._enqueue(Intent(argument, size, future), at_home=loop is self._home)
        return future

    def send(self, argument: Any) -> None:
        """Queue an intent whose result nobody awaits; of the store's event loop only."""
        self._enqueue(Intent(argument), at_home=True)

    def _again(self, intents: Iterable[Intent]) -> None:
        for intent in intents:
            self._enqueue(intent, at_home=True)

    def _enqueue(self, intent: Intent, *, at_home: bool) -> None:
        if intent.size > _SMALL:
            self._account(intent.size)
        self._waiting.append(intent)
        self._bell.ring(at_home=at_home)

    async def close(self) -> None:
        """Write what is queued, then end the loop; at most a minute."""
        self._closing = True
        self._bell.ring(at_home=True)
        try:
            async with asyncio.timeout(_END_LIMIT):
                await self._loop
        except TimeoutError:
            _log.error("the database has not answered for a minute; what was queued is refused")
        self.refuse_all()

    def refuse_all(self) -> None:
        """Turn away whatever waits."""
        self._answers.give(
            [(intent, StoreUnavailable(CLOSING)) for intent in self._take(len(self))]
        )

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    async def _run(self) -> None:
        while not self._closing or self._waiting:
            if not self._waiting:
                await self._bell.heard()
            batch = self._batch()
            if batch:
                await self._write_and_answer(batch)

    async def _write_and_answer(self, batch: list[Intent]) -> None:
        try:
            results = await self._written(batch)
        except Exception as error:  # noqa: BLE001  # the loop must outlive its own faults
            _log.critical("a batch of %d writes has no answers", len(batch), exc_info=error)
            results = [(intent, StoreUnavailable(refusals.reason(error))) for intent in batch]
        self._answers.give(results)

    def _batch(self) -> list[Intent]:
        batch = self._take(_BATCH)
        if self._aside is not None:
            batch = self._aside.sift(batch)
        if self._separate is not None and len(batch) > 1:
            later = self._separate(batch)
            if later:
                left = {id(intent) for intent in later}
                batch = [intent for intent in batch if id(intent) not in left]
                for intent in reversed(later):
                    self._account(intent.size if intent.size > _SMALL else 0)
                    self._waiting.appendleft(intent)
        return batch

    def _take(self, most: int) -> list[Intent]:
        batch: list[Intent] = []
        size = 0
        while self._waiting and len(batch) < most and size < _BATCH_BYTES:
            intent = self._waiting.popleft()
            batch.append(intent)
            if intent.size > _SMALL:
                size += intent.size
                self._account(-intent.size)
        return batch

    async def _written(self, batch: list[Intent]) -> Results:
        try:
            return await self._write(batch)
        except Exception as error:  # noqa: BLE001  # the loop must outlive any intent
            if len(batch) == 1 or not refusals.is_callers(error):
                return _refused(batch, error)
        middle = len(batch) // 2
        return await self._written(batch[:middle]) + await self._written(batch[middle:])

    def _account(self, size: int) -> None:
        with self._bytes_lock:
            self._bytes += size


def _refused(batch: Sequence[Intent], error: Exception) -> Results:
    told = refusals.refusal(error)
    if isinstance(told, StoreUnavailable):
        # Of a server that is away no traceback tells more.
        cause = None if error is told or refusals.is_lost(error) else error
        _log.error("%d writes were refused: %s", len(batch), told, exc_info=cause)
    # An exception for each, since whoever raises one hangs its own traceback on it.
    return [(intent, _copy(told)) for intent in batch]


def _copy(told: StagepostError) -> Exception:
    kind = StoreUnavailable if isinstance(told, StoreUnavailable) else type(told)
    return kind(str(told))
