"""Takes away what has been over for long enough, page by page."""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, NamedTuple

from stagepost.clock import Clock
from stagepost.retention import Page
from stagepost.settings import Keep
from stagepost.store import Store

_log = logging.getLogger("stagepost.pruner")

_DAY: Final = 86_400.0
_PAGE: Final = 200  # tasks
_REST: Final = 4.0  # times what a page took: the others get at least four fifths of the store
_LEAST_REST: Final = 0.02  # seconds
_ROWS: Final = 1_000  # of the small tables, at once


class Pruned(NamedTuple):
    """What one round has taken: tasks, events, tombstones, idempotency keys, redrives."""

    tasks: int
    events: int
    tombstones: int
    keys: int
    changes: int = 0


class Pruner:
    """One round looks once at all that is old, and takes what has had its time.

    It goes slowly, so that nobody notices; a round that is cut off is begun anew.
    """

    def __init__(self, store: Store, clock: Clock, keep: Keep) -> None:
        self._store = store
        self._clock = clock
        self._keep = keep

    async def round(self, leads: Callable[[], Awaitable[bool]]) -> Pruned:
        """One round, as long as this process leads. Raises Retryable."""
        retention, keep = self._store.retention, self._keep
        tasks = partial(retention.prune_tasks, older_than=keep.tasks_days * _DAY, limit=_PAGE)
        events = partial(retention.prune_events, older_than=keep.events_days * _DAY, limit=_PAGE)
        stones = partial(
            retention.prune_tombstones, older_than=keep.tombstones_days * _DAY, limit=_ROWS
        )
        changes = partial(self._store.mass.prune, older_than=keep.tasks_days * _DAY, limit=_ROWS)
        pruned = Pruned(
            await self._sweep(tasks, leads),
            await self._sweep(events, leads),
            await self._drain(stones, leads),
            await self._drain(partial(retention.prune_keys, _ROWS), leads),
            await self._drain(changes, leads),
        )
        if any(pruned):
            _log.info(
                "pruned: %d tasks, %d events, %d tombstones, %d idempotency keys, %d redrives",
                *pruned,
            )
        return pruned

    async def _sweep(
        self, page: Callable[[str], Awaitable[Page]], leads: Callable[[], Awaitable[bool]]
    ) -> int:
        after: str | None = ""
        changed = 0
        while after is not None and await leads():
            began = self._clock.monotonic()
            after, done = await page(after)
            changed += done
            await self._rest(began)
        return changed

    async def _drain(
        self, take: Callable[[], Awaitable[int]], leads: Callable[[], Awaitable[bool]]
    ) -> int:
        taken = 0
        while await leads():
            began = self._clock.monotonic()
            some = await take()
            taken += some
            if some < _ROWS:
                break
            await self._rest(began)
        return taken

    async def _rest(self, began: float) -> None:
        took = self._clock.monotonic() - began
        await self._clock.sleep(max(_LEAST_REST, _REST * took))
