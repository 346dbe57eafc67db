"""Doorbells between the stores of one database: which pools have got something, and rates.

They go by NOTIFY, merged and apart from the transactions that they tell of: a NOTIFY inside one
makes it several times as slow. A lost bell costs a second at most, until the next sweep.
"""

import asyncio
import contextlib
import logging
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import asyncpg
import orjson
from uuid_utils import uuid7

from stagepost.errors import StoreUnavailable
from stagepost.stores.postgres import refusals
from stagepost.stores.postgres.answers import Bell
from stagepost.stores.postgres.connections import Backend, Connections
from stagepost.stores.rows import json

_log = logging.getLogger("stagepost.store")

_GAP: Final = 0.02  # seconds between two messages at least
_FLOOD: Final = 50  # facts of one message
_FLOOD_GAP: Final = 0.1  # seconds after so many
_MOST_BYTES: Final = 7_000
"""PostgreSQL takes 8,000."""
_LOOK: Final = 10.0  # seconds between two proofs that the connection lives
_PAUSE: Final = 1.0  # seconds before a lost connection is made anew

Counts = Mapping[tuple[str, str, str], int]


class Doorbells:
    """Two loops: one tells the other stores, one listens to them.

    `pooled` is called when another store has put something into the pool, and `counted` with what
    it has counted. Both are called in the store's event loop.
    """

    def __init__(
        self,
        home: asyncio.AbstractEventLoop,
        connections: Connections,
        schema: str,
        pooled: Callable[[], None],
        counted: Callable[[Counts], None],
    ) -> None:
        self._connections = connections
        self._channel = f"stagepost_{schema}"
        self._me = str(uuid7())
        self._pooled = pooled
        self._counted = counted
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._news = False
        self._bell = Bell(home)
        self._loops = [
            home.create_task(self._tell(), name="store-doorbells"),
            home.create_task(self._listen(), name="store-listener"),
        ]

    def ring(self, pooled: Iterable[str], counts: Counts) -> None:
        """Tell the others soon."""
        self._counts.update(counts)
        if any(pooled):
            self._news = True
        if self._news or self._counts:
            self._bell.ring(at_home=True)

    async def close(self) -> None:
        """End both loops."""
        for loop in self._loops:
            loop.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)

    async def _tell(self) -> None:
        while True:
            await self._bell.heard()
            many = self._counts.total()
            message = self._message()
            try:
                async with self._connections.one("doorbells") as backend:
                    # What no disk has to keep need not wait for one.
                    await backend.execute(
                        "SET LOCAL synchronous_commit = off; "
                        f"NOTIFY {self._channel}, {_quoted(message)}"
                    )
            except (StoreUnavailable, OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                _log.debug("a doorbell was lost", exc_info=True)
            await asyncio.sleep(_GAP if many < _FLOOD else _FLOOD_GAP)

    def _message(self) -> str:
        counts = [[*key, number] for key, number in self._counts.items()]
        news = {"from": self._me, "pooled": self._news, "counts": counts}
        self._counts.clear()
        self._news = False
        message = json(news)
        return message if len(message.encode()) <= _MOST_BYTES else json({**news, "counts": []})

    async def _listen(self) -> None:
        while True:
            with contextlib.suppress(StoreUnavailable):
                await self._hear_until_lost()
            await asyncio.sleep(_PAUSE * (0.5 + random.random()))  # noqa: S311  # only spreads

    async def _hear_until_lost(self) -> None:
        backend = await self._connections.take()
        try:
            await backend.add_listener(self._channel, self._heard)
            # What was rung before has been missed.
            self._pooled()
            while True:
                await asyncio.sleep(_LOOK)
                await backend.execute("SELECT 1")
        except (asyncpg.PostgresError, asyncpg.InterfaceError, *refusals.LOST):
            _log.debug("the listening connection was lost", exc_info=True)
        finally:
            backend.terminate()

    def _heard(self, _: Backend, __: int, ___: str, message: Any) -> None:
        news = orjson.loads(message)
        if news["from"] == self._me:
            return
        if news["counts"]:
            self._counted({(row[0], row[1], row[2]): row[3] for row in news["counts"]})
        if news["pooled"]:
            self._pooled()


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
