"""Submits whose unique key another process holds: they are tried again, apart from all others.

Nothing else waits for them: of each such key one submit at a time is tried in a batch, with longer
and longer pauses, and once it has its answer the others follow. Who has waited for PATIENCE is
refused. A process that stands still in the middle so costs its own keys alone.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from stagepost.errors import StoreUnavailable
from stagepost.stores.postgres.answers import CLOSING, Answers, Intent, Results
from stagepost.stores.postgres.unique import Key, UniqueKeyHeld, key_of

PATIENCE: Final = 5.0  # seconds
_FIRST_PAUSE: Final = 0.01  # seconds
_LONGEST_PAUSE: Final = 0.2  # seconds
_MOST: Final = 1_000
_MOST_BYTES: Final = 16 * 1024 * 1024


@dataclass(slots=True, eq=False)
class _Held:
    """What waits for one key; `tried`, if any, is the first of them and on the way again."""

    waiting: deque[Intent] = field(default_factory=deque)
    tried: Intent | None = None
    pause: float = _FIRST_PAUSE


class Aside:
    """Of the store's event loop only."""

    def __init__(self, home: asyncio.AbstractEventLoop, answers: Answers) -> None:
        self._home = home
        self._answers = answers
        self.send: Callable[[Iterable[Intent]], None]
        """Puts intents into their lane once more; the lane says how."""
        self._keys: dict[Key, _Held] = {}
        self._number = self._bytes = 0
        self._closing = False

    def sift(self, batch: list[Intent]) -> list[Intent]:
        """Those of a batch that are to be tried now; the others wait here for their keys."""
        if not self._keys:
            return batch
        left = []
        for intent in batch:
            held = self._keys.get(key_of(intent.argument)) if _has_key(intent) else None
            if held is None or held.tried is intent:
                left.append(intent)
            else:
                self._keep(held, intent)
        return left

    def answered(self, results: Results) -> Results:
        """The results but for those of intents whose keys are held, which wait here now."""
        found = [intent for intent, result in results if isinstance(result, UniqueKeyHeld)]
        if not found:
            return results
        for intent in found:
            self._put(intent)
        return [each for each in results if not isinstance(each[1], UniqueKeyHeld)]

    def close(self) -> None:
        """Refuse what waits, and whatever else would have to."""
        self._closing = True
        waiting = [intent for held in self._keys.values() for intent in self._take_all(held)]
        self._keys.clear()
        self._answers.give([(intent, StoreUnavailable(CLOSING)) for intent in waiting])

    def _put(self, intent: Intent) -> None:
        key = key_of(intent.argument)
        held = self._keys.get(key)
        if held is not None and held.tried is intent:
            held.tried = None
            return
        if held is None:
            held = _Held()
            if not self._closing:
                self._keys[key] = held
                self._home.call_later(held.pause, self._look, key)
        self._keep(held, intent)

    def _keep(self, held: _Held, intent: Intent) -> None:
        intent.until = intent.until or time.monotonic() + PATIENCE
        full = self._number >= _MOST or self._bytes + intent.size > _MOST_BYTES
        if full or self._closing:
            self._answers.give([(intent, UniqueKeyHeld())])
            return
        held.waiting.append(intent)
        self._count(intent, 1)

    def _look(self, key: Key) -> None:
        """See how far a key has come."""
        held = self._keys.get(key)
        if held is None:
            return
        if held.tried is None:
            self._refuse_late(held)
            if held.waiting:
                held.tried = held.waiting[0]
                self.send([held.tried])
        elif held.tried.abandoned:
            # It has an answer, so the others will get theirs.
            self.send(self._take_all(held))
        if not held.waiting:
            del self._keys[key]
            return
        held.pause = min(2 * held.pause, _LONGEST_PAUSE)
        self._home.call_later(held.pause, self._look, key)

    def _refuse_late(self, held: _Held) -> None:
        now = time.monotonic()
        late: Results = []
        for intent in self._take_all(held):
            if intent.until <= now:
                late.append((intent, UniqueKeyHeld()))
            elif not intent.abandoned:
                held.waiting.append(intent)
                self._count(intent, 1)
        self._answers.give(late)

    def _take_all(self, held: _Held) -> list[Intent]:
        """All but the one that is on the way: its answer comes from there."""
        found = [*held.waiting]
        held.waiting.clear()
        for intent in found:
            self._count(intent, -1)
        return [intent for intent in found if intent is not held.tried]

    def _count(self, intent: Intent, number: int) -> None:
        self._number += number
        self._bytes += number * intent.size


def _has_key(intent: Intent) -> bool:
    return intent.argument.unique_key is not None
