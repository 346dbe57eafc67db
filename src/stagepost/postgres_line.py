"""A standing connection to PostgreSQL, as a bus or a limiter works on: what loses it, and when."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias, TypeVar

import asyncpg

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
Answer = TypeVar("Answer")

PATIENCE: Final = 5.0
"""Seconds for any one answer of the server; a connection that does not answer is given up."""

LOST: Final = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError)
"""What may be raised when the connection is lost or the server can't be used."""


async def answered(connection: Connection, question: Awaitable[Answer]) -> Answer:
    """Wait for an answer; a connection that gives none in time is cut, which ends the wait as LOST.

    The driver's own time-out would first ask the silent server to cancel.
    """
    cut = asyncio.get_running_loop().call_later(PATIENCE, connection.terminate)
    try:
        return await question
    finally:
        cut.cancel()


async def until_lost(connection: Connection, work: Callable[[Connection], Awaitable[None]]) -> None:
    """Do the work on the connection; raises LOST as soon as the server has closed it."""
    lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def tell(_connection: Any) -> None:
        if not lost.done():
            lost.set_result(None)

    connection.add_termination_listener(tell)
    working = asyncio.ensure_future(work(connection))
    try:
        await asyncio.wait({working, lost}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ConnectionError("the server has closed it")
        working.result()
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
