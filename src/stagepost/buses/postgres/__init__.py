"""The bus between processes by PostgreSQL's LISTEN and NOTIFY.

Two connections: one listens, one rings. What gathers while a NOTIFY is on its way goes out in the
next, and a NOTIFY waits for no sync, so a doorbell costs little however many commits ring. Within
the process everything is told at once and one for one; other processes hear ids once in a batch,
without counts. Neither a flood nor a server that is away holds anybody up or fills the memory: the
others are then told to look for themselves, and so are the listeners here whenever the connection
that listens was lost.

Text goes to the processes that were opened with `text`. Each keeps the newest `TOKENS_KEPT` bytes
of a task's open step as far as it heard them itself: a reader that comes late to another process
than the handler's gets the text from when that process began to listen, or from the last time it
was connected anew. A step whose path is longer than about 3,900 bytes is not heard elsewhere.
"""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Callable
from typing import Any, Final, Self

from stagepost.bus import Committed, Listener, Token
from stagepost.buses.ears import Ears
from stagepost.buses.postgres.line import Line, address_of
from stagepost.buses.postgres.outgoing import Outgoing
from stagepost.buses.postgres.wire import Channels, hello, is_from, payloads, read
from stagepost.buses.texts import Texts
from stagepost.errors import Retryable, StoreRefused
from stagepost.postgres_line import LOST, PATIENCE, Connection, answered

_log = logging.getLogger("stagepost.bus")

_SPACING: Final = 0.005  # seconds between two NOTIFYs: a lone bell goes out at once, others merged
_FLOOD: Final = 100  # events of one NOTIFY
_FLOOD_SPACING: Final = 0.05  # seconds after so many
_PROBE: Final = 5.0  # seconds between two looks at whether the listening connection still answers
_LAST_WORDS: Final = 2.0  # seconds for what waits when the bus is closed

_NOTIFY: Final = (
    "SELECT pg_notify(channel, payload) "
    "FROM unnest($1::text[], $2::text[]) AS told(channel, payload)"
)


class PostgresBus:
    """Made by `open`, in whose event loop it lives; its verbs may be called from any thread."""

    def __init__(self, bare: str, schema: str, *, text: bool) -> None:
        self._channels = Channels.of(schema)
        self._listening = Line(bare)
        # A doorbell that is lost with the server's memory is no loss: a sweep finds the news.
        self._ringing = Line(bare, synchronous_commit="off")
        self._text = text
        self._sender = secrets.token_hex(8)
        self._ears = Ears()
        self._own = Texts()
        self._heard = Texts()
        self._outgoing = Outgoing()
        self._loop = asyncio.get_running_loop()
        self._rung = asyncio.Event()
        self._told = asyncio.Event()
        self._passes = asyncio.Event()
        self._lines: list[asyncio.Task[None]] = []
        self._first: Connection | None = None

    @classmethod
    async def open(cls, url: str, *, text: bool = True, setting: str = "STAGEPOST_BUS") -> Self:
        """Connect, and see that notifications pass; `text`: hear what other processes emit.

        `?schema=NAME` in the address keeps engines of one database apart, as it does for the store.
        Raises StoreRefused with the remedy, which names the setting that the address comes from.
        """
        bus = cls(*address_of(url, setting), text=text)
        listening = await bus._listening.first(setting)
        try:
            ringing = await bus._ringing.first(setting)
            try:
                await bus._begin(listening, ringing)
            except BaseException:
                ringing.terminate()
                raise
        except BaseException:
            listening.terminate()
            raise
        return bus

    def ring(self, news: Committed) -> None:
        """Announce a commit."""
        self._ears.committed(news)
        if news.events or news.cancels:
            self._wake(self._outgoing.bell(news))

    def emit(self, task_id: str, token: Token) -> None:
        """Send a piece of text."""
        self._heard.drop(task_id)
        self._own.keep(task_id, token)
        self._ears.token(task_id, token)
        self._wake(self._outgoing.text(task_id, token))

    def forget(self, task_id: str) -> None:
        """Drop the text kept for a task, here and elsewhere."""
        self._heard.drop(task_id)
        if self._own.drop(task_id):
            self._wake(self._outgoing.forget(task_id))

    def kept(self, task_id: str) -> Token | None:
        """The open step's text as far as it is kept here."""
        return self._own.kept(task_id) or self._heard.kept(task_id)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call the listener in this event loop from now on."""
        return self._ears.listen(listener)

    async def ping(self) -> None:
        """Return if both connections stand."""
        if not (self._listening.connected and self._ringing.connected):
            raise Retryable("The bus has no connection to PostgreSQL; news come by sweeps.")

    async def close(self) -> None:
        """Tell what waits, for two seconds at most, and let go of the connections."""
        lines, self._lines = self._lines, []
        if lines:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LAST_WORDS):
                    await self._all_told()
        for line in lines:
            line.cancel()
        await asyncio.gather(*lines, return_exceptions=True)

    async def _all_told(self) -> None:
        while True:
            self._told.clear()
            self._rung.set()
            await self._told.wait()
            if self._outgoing.empty:
                return

    def _wake(self, waits: bool) -> None:  # noqa: FBT001  # what Outgoing answers
        if waits:
            # RuntimeError: the bus's event loop has been closed, and nobody rings for others now.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._rung.set)

    async def _begin(self, listening: Connection, ringing: Connection) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                await self._listen(listening)
                await ringing.execute(_NOTIFY, [self._channels.bells], [hello(self._sender)])
                await self._passes.wait()
        except TimeoutError:
            raise StoreRefused(
                "The bus's address passes no notifications, as a pooler does; name PostgreSQL's "
                "own address in STAGEPOST_BUS."
            ) from None
        except LOST as error:
            raise StoreRefused(
                f"PostgreSQL can't serve as the bus ({error}); name a server that takes LISTEN "
                "and NOTIFY, which a standby does not, in STAGEPOST_BUS."
            ) from error
        self._first = listening
        lines = {
            "bus listening": self._listening.run(listening, self._hear),
            "bus ringing": self._ringing.run(ringing, self._tell),
        }
        self._lines = [asyncio.create_task(line, name=name) for name, line in lines.items()]

    # What is told

    async def _tell(self, connection: Connection) -> None:
        while True:
            await self._rung.wait()
            self._rung.clear()
            batch = self._outgoing.take()
            told = [*payloads(self._sender, batch, self._channels)]
            try:
                if told:
                    channels, texts = zip(*told, strict=True)
                    await answered(connection, connection.execute(_NOTIFY, channels, texts))
            except BaseException:
                # Nobody knows what arrived. The next connection begins with this.
                self._outgoing.lose()
                self._rung.set()
                raise
            self._told.set()
            await asyncio.sleep(_SPACING if len(batch.events) < _FLOOD else _FLOOD_SPACING)

    # What is heard

    async def _listen(self, connection: Connection) -> None:
        await connection.add_listener(self._channels.bells, self._bell_heard)
        if self._text:
            await connection.add_listener(self._channels.texts, self._text_heard)

    async def _hear(self, connection: Connection) -> None:
        await answered(connection, self._listen(connection))
        if connection is not self._first:
            # What was rung since the last connection was not heard.
            self._heard.clear()
            self._ears.missed()
        while True:
            await asyncio.sleep(_PROBE)
            await answered(connection, connection.execute("SELECT 1"))

    def _bell_heard(self, _connection: Any, _pid: int, _channel: str, payload: object) -> None:
        text = str(payload)
        if is_from(text, self._sender):
            if text == hello(self._sender):
                self._passes.set()
            return
        heard = read(text)
        if heard is None:
            return
        if heard.missed:
            self._ears.missed()
        if heard.events or heard.cancels:
            self._ears.committed(Committed(heard.events, heard.cancels))

    def _text_heard(self, _connection: Any, _pid: int, _channel: str, payload: object) -> None:
        heard = None if is_from(str(payload), self._sender) else read(str(payload))
        if heard is None:
            return
        if heard.missed:
            self._heard.clear()
        for task_id, token in heard.said:
            if token is None:
                self._heard.drop(task_id)
            else:
                self._own.drop(task_id)
                self._heard.keep(task_id, token)
                self._ears.token(task_id, token)
