"""One connection to PostgreSQL, made again whenever it is lost."""

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg

from stagepost.errors import StoreRefused
from stagepost.postgres_line import LOST, PATIENCE, Connection, until_lost

_log = logging.getLogger("stagepost.bus")

_FIRST_DELAY: Final = 0.1  # seconds before another connection, doubled with each that fails
_MOST_DELAY: Final = 5.0
_GOODBYE: Final = 1.0  # seconds


def address_of(url: str, setting: str) -> tuple[str, str]:
    """An address as the driver takes it, and the schema that its `?schema=` names.

    Raises StoreRefused for one that is none; `setting` is where it comes from.
    """
    try:
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
    except ValueError as error:
        raise StoreRefused(_sentence(error, setting)) from error
    schema = options.pop("schema", "stagepost")
    return urlunsplit(parts._replace(query=urlencode(options))), schema


class Line:
    """Makes connections to one address. `options` are PostgreSQL's own settings for them."""

    def __init__(self, url: str, **options: str) -> None:
        self._url = url
        self._options = {"application_name": "stagepost bus", **options}
        self.connected = False
        """Whether the work has a connection now."""

    async def connect(self) -> Connection:
        """A connection. Raises LOST, or ValueError for an address that is none."""
        async with asyncio.timeout(PATIENCE):
            return await asyncpg.connect(
                self._url, timeout=PATIENCE, server_settings=self._options, statement_cache_size=8
            )

    async def first(self, setting: str) -> Connection:
        """The same at the start. Raises StoreRefused with one sentence that has the remedy."""
        try:
            return await self.connect()
        except (ValueError, *LOST) as error:
            raise StoreRefused(_sentence(error, setting)) from error

    async def run(self, first: Connection, work: Callable[[Connection], Awaitable[None]]) -> None:
        """Do the work on a connection, and on another one whenever that is lost; until cancelled.

        The work raises LOST when it finds that its connection is.
        """
        connection = first
        while True:
            self.connected = True
            try:
                await until_lost(connection, work)
            except LOST as error:
                _log.warning("the bus has lost its connection to PostgreSQL: %s", _text(error))
            except asyncio.CancelledError:
                await _say_goodbye(connection)
                raise
            finally:
                self.connected = False
                connection.terminate()
            connection = await self._again()
            _log.info("the bus is connected to PostgreSQL again")

    async def _again(self) -> Connection:
        delay = _FIRST_DELAY
        while True:
            await asyncio.sleep(delay * random.uniform(0.5, 1.0))  # noqa: S311  # only spreads
            delay = min(delay * 2, _MOST_DELAY)
            try:
                return await self.connect()
            except (ValueError, *LOST) as error:
                _log.debug("the bus can't connect to PostgreSQL: %s", _text(error))


async def _say_goodbye(connection: Connection) -> None:
    # Cut off without it, the server's log would complain of each process that ends.
    with contextlib.suppress(*LOST):
        await connection.close(timeout=_GOODBYE)


def _text(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _sentence(error: BaseException, setting: str) -> str:
    match error:
        case asyncpg.InvalidPasswordError() | asyncpg.InvalidAuthorizationSpecificationError():
            return f"PostgreSQL refuses the bus's user or password; right them in {setting}."
        case asyncpg.InvalidCatalogNameError():
            return f"The bus's database does not exist; make it, or name another in {setting}."
        case asyncpg.PostgresError():
            return f"PostgreSQL refuses the bus ({_text(error)}); mend that, or right {setting}."
        case OSError():
            return f"The bus can't reach PostgreSQL; start it, or right its address in {setting}."
        case _:
            # Its text may hold a part of the password.
            return (
                f"The bus's address is not understood; write {setting} as "
                "postgresql://user:password@host:port/database, with %XX for special characters."
            )
