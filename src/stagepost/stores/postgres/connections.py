"""Connections, made when they are needed and kept for the next."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final

import asyncpg

from stagepost.errors import StoreUnavailable
from stagepost.stores.postgres import refusals
from stagepost.stores.postgres.address import Address

_log = logging.getLogger("stagepost.store")

_CONNECT_LIMIT: Final = 5.0  # seconds
_ANSWER_LIMIT: Final = 40.0  # seconds; the server gives up before, unless the network is dead
_CLOSE_LIMIT: Final = 5.0  # seconds
_FIRST_DELAY: Final = 0.1  # seconds until the next try after one that failed
_LONGEST_DELAY: Final = 2.0

_SETTINGS: Final = {
    "statement_timeout": "30s",
    "lock_timeout": "10s",
    "idle_in_transaction_session_timeout": "30s",
    "TimeZone": "UTC",
    # Every statement here is meant for one plan, by an index. Judged by the statistics of tables
    # that are empty one minute and hold a million rows the next, others would win now and then.
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_mergejoin": "off",
    "jit": "off",
    # A dead peer is noticed within half a minute.
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "4",
}


class Backend(asyncpg.Connection):  # type: ignore[misc]  # the driver has no types
    """A connection that knows which process of the server serves it, and what it is used for."""

    __slots__ = ("born", "pid", "purpose")

    pid: int
    """Its number, which the driver forgets as soon as the connection is lost."""
    born: datetime
    """When that process began: its number alone may be another's by now."""
    purpose: str
    """For what it was used last, such as claims: their statements are parsed and planned there."""


async def connect(address: Address) -> Backend:
    """A new connection; errors are the driver's own."""
    backend: Backend = await asyncpg.connect(
        address.url,
        timeout=_CONNECT_LIMIT,
        command_timeout=_ANSWER_LIMIT,
        max_cached_statement_lifetime=0,
        statement_cache_size=200,
        connection_class=Backend,
        server_settings={
            **_SETTINGS,
            "application_name": f"stagepost {address.schema}",
            "search_path": address.schema,
        },
    )
    try:
        backend.purpose = ""
        backend.pid = backend.get_server_pid()
        backend.born = await backend.fetchval(_BORN)
    except BaseException:
        backend.terminate()
        raise
    return backend


_BORN: Final = "SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
_END: Final = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND backend_start = $2"""
_END_LIMIT: Final = 5.0  # seconds
_END_POLL: Final = 0.02


class Connections:
    """As many as are in use at once, which their users bound; of the store's event loop only.

    After a connection could not be made the next is tried only after a while, up to 2 s, and until
    then StoreUnavailable is raised at once.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._idle: list[Backend] = []
        self._delay = 0.0
        self._not_before = 0.0
        self._away_since: float | None = None
        self._reason = ""
        self._closed = False

    @asynccontextmanager
    async def one(self, purpose: str = "") -> AsyncIterator[Backend]:
        """A connection; after an error in which its state is in doubt it is given up.

        A purpose gets the one that served it before if that is free: to parse and plan the
        statements of a claim costs the server as much as half a batch of them.
        """
        backend = await self.take(purpose)
        try:
            yield backend
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) or refusals.is_lost(error):
                backend.terminate()
            self.give(backend)
            raise
        self.give(backend)

    async def take(self, purpose: str = "") -> Backend:
        """A connection that the caller gives back. Raises StoreUnavailable."""
        self._idle = [backend for backend in self._idle if not backend.is_closed()]
        backend = self._idle_of(purpose) or self._idle_of("") or await self._made()
        backend.purpose = purpose
        return backend

    def _idle_of(self, purpose: str) -> Backend | None:
        for backend in reversed(self._idle):
            if backend.purpose == purpose:
                self._idle.remove(backend)
                return backend
        return None

    async def _made(self) -> Backend:
        if time.monotonic() < self._not_before:
            raise StoreUnavailable(self._reason)
        try:
            backend = await connect(self._address)
        except asyncpg.TooManyConnectionsError as error:
            if self._idle:
                # Better one that has to learn the statements anew than none.
                return self._idle.pop()
            self._failed(refusals.reason(error))
            raise StoreUnavailable(self._reason) from error
        except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            self._failed(refusals.reason(error))
            raise StoreUnavailable(self._reason) from error
        self._delay = 0.0
        if self._away_since is not None:
            away = time.monotonic() - self._away_since
            self._away_since = None
            _log.warning("the database answers again, after %.1f s", away)
        return backend

    def give(self, backend: Backend) -> None:
        """Give a connection back."""
        if self._closed:
            backend.terminate()
        elif not backend.is_closed():
            self._idle.append(backend)

    def _failed(self, reason: str) -> None:
        self._reason = reason
        self._away_since = self._away_since or time.monotonic()
        self._delay = min(max(_FIRST_DELAY, self._delay * 2), _LONGEST_DELAY)
        self._not_before = time.monotonic() + self._delay

    async def bury(self, pid: int, born: datetime) -> None:
        """Return once the server's process of a lost connection does nothing any more.

        Only then can what it did be looked at: it may still have been about to commit. Raises
        StoreUnavailable if it can't be ended.
        """
        limit = time.monotonic() + _END_LIMIT
        async with self.one() as backend:
            while await backend.fetch(_END, pid, born):
                if time.monotonic() > limit:
                    raise StoreUnavailable("The database is still busy with an earlier write.")
                await asyncio.sleep(_END_POLL)

    async def close(self) -> None:
        """Close those that are idle; the others are closed when they are given back."""
        self._closed = True
        idle, self._idle = self._idle, []
        await asyncio.gather(*(_close(backend) for backend in idle))


async def _close(backend: Backend) -> None:
    try:
        await backend.close(timeout=_CLOSE_LIMIT)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        backend.terminate()
