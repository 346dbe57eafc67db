"""What waits to be asked, and one transaction that answers all of it."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from stagepost.errors import LimiterUnavailable, QueueFull
from stagepost.limiter import Notice, Reservation
from stagepost.limiters import decision
from stagepost.limiters.account import Account
from stagepost.limiters.decision import Asked, Decision
from stagepost.limiters.postgres import schema
from stagepost.postgres_line import PATIENCE, Connection

_MOST_WAITING: Final = 10_000
_MOST_NOTICES: Final = 1_000
_MOST_KNOWN: Final = 10_000
_BATCH: Final = 200
_NEW: Final = Account().dump()


@dataclass(slots=True)
class Question:
    """An Asked, and the future that waits for its Decision."""

    asked: Asked
    answer: "asyncio.Future[Decision]"


class Ending(NamedTuple):
    """A reservation that is over, and what it has really used; `unanswered` if it makes no call."""

    reservation: Reservation
    used: Mapping[str, int] | None = None
    unanswered: bool = False


@dataclass(slots=True)
class Batch:
    """What is answered together. `ended` are over; `unused` were granted at that moment in vain."""

    questions: list[Question] = field(default_factory=list)
    ended: dict[str, Ending] = field(default_factory=dict)
    unused: dict[str, tuple[Reservation, int]] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)

    @property
    def freed(self) -> list[Reservation]:
        """Those that free something, or a place in line."""
        return [
            *(ending.reservation for ending in self.ended.values()),
            *(reservation for reservation, _ in self.unused.values()),
        ]

    @property
    def reservations(self) -> list[Reservation]:
        """All that it is about; the limits of questions are the newest."""
        return [
            *self.freed,
            *(question.asked.reservation for question in self.questions),
        ]

    @property
    def names(self) -> list[str]:
        """The limits that it is about, in the order in which they are locked."""
        told = {notice.limit.name for notice in self.notices}
        charged = {charge.limit.name for each in self.reservations for charge in each.charges}
        return sorted(told | charged)


class Desk:
    """Lives in one event loop, in which all its methods are called."""

    def __init__(
        self,
        holder: str,
        channel: str,
        lease: float,
        call: Callable[[Sequence[str]], None],
    ) -> None:
        self._call = call
        self._holder = holder
        self._channel = channel
        self._half_lease = int(lease * 500)
        self._questions: deque[Question] = deque()
        self._ended: dict[str, Ending] = {}
        self._unused: dict[str, tuple[Reservation, int]] = {}
        self._notices: deque[Notice] = deque(maxlen=_MOST_NOTICES)
        self._noticed = 0
        self.heeded = 0
        self._known: set[str] = set()
        self._asking: Batch | None = None
        self._news = asyncio.Event()
        self._stirred = asyncio.Event()

    async def ask(self, reservation: Reservation, patience: int) -> Decision:
        """Put a question. Raises QueueFull, and LimiterUnavailable when no answer comes."""
        if len(self._questions) >= _MOST_WAITING:
            raise QueueFull("Too many ask the limiter; try again in a moment.")
        future: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._questions.append(Question(Asked(reservation, self._holder, patience), future))
        self._news.set()
        try:
            async with asyncio.timeout(PATIENCE):
                return await future
        except TimeoutError:
            # It may be granted and nobody has heard of it.
            self.withdraw(reservation)
            raise LimiterUnavailable(
                "The limiter's database does not answer; what waits for a limit goes on when it "
                "is back."
            ) from None
        except asyncio.CancelledError:
            self.withdraw(reservation)
            raise

    def end(self, reservation: Reservation, used: Mapping[str, int] | None = None) -> None:
        """What the reservation holds is free, and so is its place in line; so much it has used."""
        self._ended[reservation.held_as] = Ending(reservation, used)
        self._news.set()

    def withdraw(self, reservation: Reservation) -> None:
        """The same where nobody has heard whether it was granted: no call was made."""
        self._ended.setdefault(reservation.held_as, Ending(reservation, unanswered=True))
        self._news.set()

    def heed(self, notices: Sequence[Notice]) -> int:
        """Tell what was told of limits; `heeded` reaches the answer when it was.

        If nobody can be told for long, it is the newest that is told.
        """
        over = len(self._notices) + len(notices) - _MOST_NOTICES
        self.heeded += max(0, over)
        self._noticed += len(notices)
        self._notices.extend(notices)
        self._news.set()
        return self._noticed

    def is_ending(self, reservation: Reservation) -> bool:
        """Whether the end of a reservation still waits to be told."""
        asking = self._asking is not None and reservation.held_as in self._asking.ended
        return asking or reservation.held_as in self._ended

    async def something_waits(self, seconds: float) -> bool:
        """Return as soon as something waits to be asked or told, or after so many seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        return self._news.is_set()

    def stir(self) -> None:
        """Let everybody in `stirred` look again."""
        self._stirred.set()
        self._stirred.clear()

    async def stirred(self) -> None:
        """Return when a batch was answered, or the connection has gone."""
        await self._stirred.wait()

    async def answer(self, connection: Connection) -> None:
        """Answer what waits, up to a few hundred questions; where that fails it goes on waiting."""
        self._asking = batch = self._take()
        try:
            await self._transact(connection, batch)
        except BaseException:
            self._questions.extendleft(reversed(batch.questions))
            self._ended = {**batch.ended, **self._ended}
            self._unused = {**batch.unused, **self._unused}
            self._keep_noticed(batch.notices)
            self._news.set()
            raise
        finally:
            self._asking = None
        self.heeded += len(batch.notices)
        self.stir()

    def _keep_noticed(self, earlier: Sequence[Notice]) -> None:
        room = _MOST_NOTICES - len(self._notices)
        self.heeded += max(0, len(earlier) - room)
        self._notices.extendleft(reversed(earlier[-room:] if room else ()))

    def _take(self) -> Batch:
        self._news.clear()
        batch = Batch([], self._ended, self._unused, list(self._notices))
        self._ended, self._unused = {}, {}
        self._notices.clear()
        while self._questions and len(batch.questions) < _BATCH:
            question = self._questions.popleft()
            if not question.answer.done():
                batch.questions.append(question)
        if self._questions:
            self._news.set()
        return batch

    async def _transact(self, connection: Connection, batch: Batch) -> None:
        names = batch.names
        if not names:
            return
        async with connection.transaction():
            accounts = await self._accounts(connection, names)
            now, living = await connection.fetchrow(schema.MOMENT, self._half_lease)
            decisions = _decided(batch, accounts, now, {*living, self._holder})
            called = decision.call_next(accounts, batch.reservations)
            ready = decision.ready(accounts, batch.freed)
            texts = [accounts[name].dump() for name in names]
            granted = any(each.verdict.granted for each in decisions)
            durable = granted or bool(batch.freed or batch.notices)
            keep = schema.KEEP if durable else schema.KEEP_LIGHTLY
            await connection.execute(keep, names, texts)
            if ready:
                await connection.execute(schema.RING, self._channel, schema.said_to(ready))
        self._call(called)
        for question, answer in zip(batch.questions, decisions, strict=True):
            self._tell(question, answer, now)

    async def _accounts(self, connection: Connection, names: list[str]) -> dict[str, Account]:
        if not self._known.issuperset(names):
            await self._add(connection, names)
        rows = await connection.fetch(schema.TAKE, names)
        if len(rows) < len(names):
            # Another process has forgotten one.
            await self._add(connection, names)
            rows = await connection.fetch(schema.TAKE, names)
        if len(rows) < len(names):
            raise ConnectionError("the limiter's tables are not as they were")
        return {name: Account.load(state) for name, state in rows}

    async def _add(self, connection: Connection, names: list[str]) -> None:
        await connection.execute(schema.ADD, names, _NEW)
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        self._known.update(names)

    def _tell(self, question: Question, answer: Decision, now: int) -> None:
        if not question.answer.done():
            question.answer.set_result(answer)
        elif answer.verdict.granted:
            reservation = question.asked.reservation
            self._unused[reservation.held_as] = (reservation, now)
            self._news.set()


def _decided(
    batch: Batch, accounts: dict[str, Account], now: int, living: Collection[str]
) -> list[Decision]:
    limits = [charge.limit for each in batch.reservations for charge in each.charges]
    for limit in [*limits, *(notice.limit for notice in batch.notices)]:
        account = accounts[limit.name]
        account.bury(living)
        account.catch_up(limit, now)
    decision.heed(accounts, batch.notices)
    for reservation, at in batch.unused.values():
        decision.give_back(accounts, reservation, at)
    for ending in batch.ended.values():
        if ending.unanswered:
            decision.withdraw(accounts, ending.reservation)
        else:
            decision.release(accounts, ending.reservation, now, ending.used)
    return [decision.decide(accounts, question.asked, now) for question in batch.questions]
