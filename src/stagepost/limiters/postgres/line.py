"""The limiter's connection to PostgreSQL, made again whenever it is lost."""

import asyncio
import contextlib
import logging
import random
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg

from stagepost.errors import StoreRefused
from stagepost.limiters.postgres import schema
from stagepost.postgres_line import LOST, PATIENCE, Connection, answered, until_lost

_log = logging.getLogger("stagepost.limiter")


_FIRST_DELAY: Final = 0.05  # seconds before another connection, doubled with each that fails
_MOST_DELAY: Final = 2.0
_GOODBYE: Final = 1.0  # seconds
_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,50}")
_SETTINGS: Final = {
    # One that is stopped in the middle must not hold up the others for longer than this.
    "idle_in_transaction_session_timeout": "3s",
    "lock_timeout": "4s",
    "statement_timeout": "5s",
    "jit": "off",
}


@dataclass(frozen=True, slots=True)
class Address:
    """Where the limiter's tables are; `setting` is the variable that says so."""

    url: str = field(repr=False)
    schema: str
    setting: str

    @classmethod
    def parse(cls, url: str, setting: str) -> "Address":
        """`postgresql://USER:PASSWORD@HOST/DATABASE?schema=NAME`. Raises StoreRefused."""
        try:
            parts = urlsplit(url)
            options = dict(parse_qsl(parts.query, keep_blank_values=True))
        except ValueError:
            raise StoreRefused(f"{setting} is no address of a PostgreSQL database.") from None
        name = options.pop("schema", "stagepost")
        if not _NAME.fullmatch(name):
            raise StoreRefused(f'The schema "{name}" in {setting} can\'t be used.')
        return cls(urlunsplit(parts._replace(query=urlencode(options))), name, setting)

    async def connect(self) -> Connection:
        """A connection. Raises LOST, or ValueError for an address that is none."""
        async with asyncio.timeout(PATIENCE):
            return await asyncpg.connect(
                self.url,
                timeout=PATIENCE,
                server_settings={
                    **_SETTINGS,
                    "application_name": "stagepost limiter",
                    "search_path": self.schema,
                },
            )

    async def look(self) -> None:
        """Connect and go. Raises StoreRefused with the remedy."""
        try:
            connection = await self.connect()
        except (ValueError, *LOST) as error:
            raise StoreRefused(self._sentence(error)) from error
        connection.terminate()

    async def first(self, begin: Callable[[Connection], Awaitable[None]]) -> Connection:
        """One with the tables in place, and begun. Raises StoreRefused with the remedy."""
        try:
            connection = await self.connect()
        except (ValueError, *LOST) as error:
            raise StoreRefused(self._sentence(error)) from error
        try:
            await answered(connection, self._prepare(connection))
            await answered(connection, begin(connection))
        except BaseException as error:
            connection.terminate()
            if isinstance(error, LOST):
                raise StoreRefused(self._sentence(error)) from error
            raise
        return connection

    async def _prepare(self, connection: Connection) -> None:
        if await connection.fetchval(schema.EXISTS):
            return
        async with connection.transaction():
            await connection.execute(schema.LOCKED)
            if not await connection.fetchval(schema.HAS_SCHEMA, self.schema):
                await connection.execute(f"CREATE SCHEMA {self.schema}")
            if not await connection.fetchval(schema.EXISTS):
                await connection.execute(schema.TABLES)

    def _sentence(self, error: BaseException) -> str:
        match error:
            case asyncpg.InvalidPasswordError() | asyncpg.InvalidAuthorizationSpecificationError():
                return f"PostgreSQL refuses the limiter's user or password; right {self.setting}."
            case asyncpg.InsufficientPrivilegeError():
                return (
                    f"The role in {self.setting} may not make the limiter's tables in the schema "
                    f"{self.schema}: GRANT CREATE, or let the schema's owner start first."
                )
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        return f"The limiter has no database ({reason}); right {self.setting}, or start it."


async def keep_connected(
    address: Address, first: Connection, work: Callable[[Connection], Awaitable[None]]
) -> None:
    """Do the work on a connection, and on another one whenever that is lost; until cancelled."""
    connection = first
    while True:
        try:
            await until_lost(connection, work)
        except LOST as error:
            _log.warning("the limiter has lost its connection to PostgreSQL: %s", error)
        except Exception:  # noqa: BLE001  # whatever it is, it is logged and the line is made anew
            _log.exception("the limiter has a fault")
        except asyncio.CancelledError:
            with contextlib.suppress(*LOST):
                await connection.close(timeout=_GOODBYE)
            raise
        finally:
            connection.terminate()
        connection = await _again(address)
        _log.info("the limiter is connected to PostgreSQL again")


async def _again(address: Address) -> Connection:
    delay = _FIRST_DELAY
    while True:
        await asyncio.sleep(delay * random.uniform(0.5, 1.0))  # noqa: S311  # only spreads
        delay = min(delay * 2, _MOST_DELAY)
        try:
            return await address.connect()
        except (ValueError, *LOST) as error:
            _log.debug("the limiter can't connect to PostgreSQL: %s", error)
