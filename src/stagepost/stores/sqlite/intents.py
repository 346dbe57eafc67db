"""What callers want written, and the bounded queues in which it waits for the writer."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from stagepost.errors import StoreUnavailable

MOST_INTENTS: Final = 10_000
MOST_BYTES: Final = 64 * 1024 * 1024
_SMALL: Final = 4_096  # bytes; a smaller intent is bounded by the count alone
_BATCH: Final = 2_000
_EACH: Final = 100  # of a batch, for every kind that has so many: none starves
_ROOM_POLL: Final = 0.005  # seconds
_ROOM_LIMIT: Final = 30.0  # seconds


class Kind(IntEnum):
    """The order within a transaction.

    What one claim has in flight at once is never refused because the claim's own end, or its
    rescue, is in the same batch. Claims come last, so they see what the batch queued.
    """

    LIFE = 0  # register, beat
    PROGRESS = 1
    STEP = 2
    SETTLE = 3
    RESCUE = 4  # and retire
    CHANGE = 5  # cancel, redrive, due times
    SUBMIT = 6
    CLAIM = 7


_URGENCY: Final = (
    Kind.LIFE, Kind.RESCUE, Kind.CLAIM, Kind.SETTLE, Kind.SUBMIT, Kind.CHANGE, Kind.STEP,
    Kind.PROGRESS,
)  # fmt: skip
"""Whose intents are taken first when more wait than a batch holds."""


@dataclass(slots=True, eq=False)
class Intent:
    """One caller's wish. `apply` is shared by all that can be applied as one group.

    It takes a transaction and the arguments of the group, and answers a result for each of them; a
    result that is an exception is raised where the caller awaits.
    """

    kind: Kind
    apply: Callable[[Any, list[Any]], Sequence[Any]]
    argument: Any
    size: int = 0
    future: "asyncio.Future[Any] | None" = None
    """Where the caller awaits; None when nobody does."""
    until: float = 0.0
    """For claims: the monotonic time up to which an empty answer is held back."""
    undo: "Callable[[Any], Iterable[Intent]] | None" = None
    """What takes back a result that could not be handed over, as its caller has gone."""

    @property
    def abandoned(self) -> bool:
        """True once nobody waits for the result any more."""
        return self.future is not None and self.future.done()


class Inbox:
    """Puts from any event loop, takes by the writer's thread.

    Callers append to one queue, which needs no lock; the writer's thread sorts what has come by
    kind and keeps what is more than a batch.
    """

    def __init__(self) -> None:
        self._arrived: deque[Intent] = deque()
        self._sorted: dict[Kind, deque[Intent]] = {kind: deque() for kind in Kind}
        self._left = 0  # how many are sorted and wait
        self._bytes = 0
        self._bytes_lock = threading.Lock()
        self._news = threading.Event()

    def __bool__(self) -> bool:
        """True while something waits."""
        return bool(self._arrived) or self._left > 0

    def put(self, intent: Intent) -> None:
        """Queue an intent, whether there is room or not."""
        if intent.size > _SMALL:
            self._account(intent.size)
        self._arrived.append(intent)
        if not self._news.is_set():
            self._news.set()

    def wake(self) -> None:
        """Let the writer look, though nothing may have come."""
        self._news.set()

    async def room(self, size: int) -> None:
        """Wait until there is room for so many bytes; at most 30 s."""
        limit = time.monotonic() + _ROOM_LIMIT
        while self.full(size):
            if time.monotonic() > limit:
                raise StoreUnavailable("The store has not kept up for 30 s; its disk is too slow.")
            await asyncio.sleep(_ROOM_POLL)

    def full(self, size: int) -> bool:
        """Whether an intent of so many bytes has no room."""
        if size > _SMALL and self._bytes + size > MOST_BYTES:
            return True
        return len(self._arrived) + self._left >= MOST_INTENTS

    def wait(self, timeout: float | None) -> None:
        """Block until something was put; in seconds."""
        self._news.wait(0.0 if self else timeout)
        self._news.clear()

    def take(self) -> list[Intent]:
        """The next batch: a few of every kind, then the most urgent."""
        arrived = self._arrived
        if not self._left and len(arrived) <= _BATCH:
            batch = [arrived.popleft() for _ in range(len(arrived))]
        else:
            batch = self._most_urgent()
        for intent in batch:
            if intent.size > _SMALL:
                self._account(-intent.size)
        return batch

    def _most_urgent(self) -> list[Intent]:
        for _ in range(len(self._arrived)):
            # Counted before it is moved, so that it is never seen as gone.
            self._left += 1
            intent = self._arrived.popleft()
            self._sorted[intent.kind].append(intent)
        batch: list[Intent] = []
        for kind in Kind:
            self._move(kind, _EACH, batch)
        for kind in _URGENCY:
            self._move(kind, _BATCH - len(batch), batch)
        self._left -= len(batch)
        return batch

    def _move(self, kind: Kind, most: int, batch: list[Intent]) -> None:
        queue = self._sorted[kind]
        batch += [queue.popleft() for _ in range(min(len(queue), most))]

    def _account(self, size: int) -> None:
        with self._bytes_lock:
            self._bytes += size
