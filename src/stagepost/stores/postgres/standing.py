"""The claims that wait for something to take, and the loop that serves them."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from uuid_utils import uuid7

from stagepost.errors import StoreUnavailable
from stagepost.records import Demand
from stagepost.stores.postgres import refusals
from stagepost.stores.postgres.answers import CLOSING, Answers, Bell, Intent

_log = logging.getLogger("stagepost.store")


@dataclass(slots=True, eq=False)
class _Wish(Intent):
    until: float = 0.0
    """The monotonic time up to which an empty answer is held back."""


class Claims:
    """The loop that serves claims, in their order.

    A claim that finds nothing waits, and is tried again when something has come into the pool: at
    once if it came from here or `wake` says so, and within `SWEEP` seconds in any case. `serve`
    is given a demand and the lease of what it takes.
    """

    SWEEP: Final = 1.0

    def __init__(
        self,
        home: asyncio.AbstractEventLoop,
        serve: Callable[[Demand, str], Any],
        answers: Answers,
    ) -> None:
        self._home = home
        self._serve = serve
        self._answers = answers
        self._arrived: deque[_Wish] = deque()
        self._standing: list[_Wish] = []
        self._bell = Bell(home)
        self._pooled = False
        self._closing = False
        self._loop = home.create_task(self._run(), name="store-claims")

    def put(self, demand: Demand, wait: float) -> "asyncio.Future[Any]":
        """Queue a claim; the future has what it took."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        if self._closing:
            future.set_exception(StoreUnavailable(CLOSING))
            return future
        self._arrived.append(_Wish(demand, 0, future, time.monotonic() + wait if wait else 0.0))
        self._bell.ring(at_home=loop is self._home)
        return future

    def wake(self) -> None:
        """Something has come into the pool."""
        self._pooled = True
        if self._standing or self._arrived:
            self._bell.ring(at_home=True)

    async def close(self) -> None:
        """End the loop; what waits is answered with nothing."""
        self._closing = True
        self._bell.ring(at_home=True)
        await self._loop
        left, self._standing = [*self._standing, *self._take()], []
        self._answers.give([(wish, ()) for wish in left])

    def _take(self) -> list[_Wish]:
        # One by one: other threads add to it meanwhile.
        return [self._arrived.popleft() for _ in range(len(self._arrived))]

    async def _run(self) -> None:
        while not self._closing:
            await self._bell.heard(self._patience())
            await self._serve_all()

    def _patience(self) -> float | None:
        if not self._standing:
            return None
        ends = min(wish.until for wish in self._standing) - time.monotonic()
        return max(0.0, min(ends, self.SWEEP))

    async def _serve_all(self) -> None:
        arrived = self._take()
        new = {id(wish) for wish in arrived}
        wishes = [*self._standing, *arrived]
        all_of_them = self._pooled or not new
        self._pooled = False
        self._standing = [wish for wish in wishes if not wish.abandoned]
        for wish in list(self._standing):
            served = all_of_them or id(wish) in new
            found = await self._try(wish) if served and not wish.abandoned else ()
            if found or wish.until <= time.monotonic():
                self._standing.remove(wish)
                self._answers.give([(wish, found)])

    async def _try(self, wish: _Wish) -> Any:
        try:
            return await self._serve(wish.argument, str(uuid7()))
        except Exception as error:  # noqa: BLE001  # the loop must outlive any claim
            told = refusals.refusal(error)
            _log.warning("a claim was refused: %s", told)
            return told
