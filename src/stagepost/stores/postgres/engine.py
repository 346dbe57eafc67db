"""The moving parts of the store: connections, lanes, doorbells; and what follows a commit."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import asyncpg

from stagepost.bus import Committed
from stagepost.clock import Clock
from stagepost.errors import QueueFull, StoreUnavailable
from stagepost.outcome import Drained
from stagepost.records import Claimed, Demand, LaneRecord
from stagepost.stores.postgres import (
    batches,
    claiming,
    refusals,
    standing,
    submitting,
    warming,
    writing,
)
from stagepost.stores.postgres.address import Address
from stagepost.stores.postgres.answers import CLOSING, Answers, Intent, Results
from stagepost.stores.postgres.aside import Aside
from stagepost.stores.postgres.connections import Backend, Connections
from stagepost.stores.postgres.doorbells import Doorbells
from stagepost.stores.postgres.fenced import Kind, Write
from stagepost.stores.postgres.held import Held
from stagepost.stores.postgres.lane import Lane
from stagepost.stores.postgres.quotas import Limits
from stagepost.stores.postgres.ruling import KnownRules
from stagepost.stores.postgres.telling import Telling
from stagepost.stores.postgres.transaction import InDoubt, Moment, Transaction, Work, perform
from stagepost.stores.rates import Rates

_log = logging.getLogger("stagepost.store")

Answer = TypeVar("Answer")

_CHANGES: Final = 2
"""Connections for the rare changes, and as many for reads."""
_READS: Final = 3
_MOST_WAITING: Final = 10_000


class Engine:
    """All that lives in the store's event loop, the one in which it was opened.

    Its methods may be called from any event loop. `first` is a connection that is there already.
    """

    def __init__(
        self,
        address: Address,
        clock: Clock,
        committed: Callable[[Committed], None],
        first: Backend,
        max_queued: int | None = None,
    ) -> None:
        self._home = home = asyncio.get_running_loop()
        self._connections = Connections(address)
        self._connections.give(first)
        self._committed = committed
        self.moment = Moment()
        self._held = Held()
        self._rules = KnownRules()
        self._held_back = False
        self._rates = Rates(clock)
        self._doubtful: list[tuple[str, InDoubt]] = []
        self.closing = False
        self._changing = asyncio.Semaphore(_CHANGES)
        self._reading = asyncio.Semaphore(_READS)
        self._waiting = 0
        answers = Answers(home)
        self.limits = Limits(max_queued)
        self._submits = Lane("submits", home, self._write_submits, answers)
        # Those with a key may have to wait for another process, and no other waits with them.
        self._aside = Aside(home, answers)
        self._named = Lane(
            "named submits", home, self._write_named, answers, separate=_seconds, aside=self._aside
        )
        self._writes = Lane(
            "writes", home, self._write_writes, answers, separate=writing.second_ends
        )
        self._more: list[Lane] = []
        self._telling = Telling(home, lambda limit: self.change(lambda tx: batches.wake(tx, limit)))
        self._claims = standing.Claims(home, self._serve, Answers(home, self._take_back))
        self._doorbells = Doorbells(
            home, self._connections, address.schema, self._claims.wake, self._rates.count
        )

    # From any event loop

    def submit(self, new: Any) -> "asyncio.Future[Any]":
        """Put a submit into its lane; the future fails with QueueFull where there is no room."""
        size = len(new.input)
        lane = self._named if submitting.is_named(new) else self._submits
        if lane.full(size):
            full: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            full.set_exception(
                QueueFull("Too much is waiting to be written; try again in a moment.")
            )
            return full
        return lane.put(new, size)

    async def write(self, each: Write, size: int = 0) -> None:
        """Put what a claim writes into its lane; waits for room, but for ends."""
        # Claims are bounded by the workers' slots, and so are their ends.
        if each.kind is not Kind.SETTLE and self._writes.full(size):
            await self._writes.room(size)
        await self._writes.put(each, size)

    def lane(self, name: str, write: Callable[[list[Any]], Work[list[Any]]]) -> Lane:
        """A queue, until the store is closed, of what is written batch by batch, and its loop."""

        async def written(batch: list[Intent]) -> Results:
            work = write([intent.argument for intent in batch])
            transaction, answers = await perform(self._connections, self.moment, work, name)
            self._announce(transaction)
            return list(zip(batch, answers, strict=True))

        self._more.append(Lane(name, self._home, written, Answers(self._home)))
        return self._more[-1]

    async def claim(self, demand: Demand, wait: float) -> Sequence[Claimed]:
        """Put a claim before the pool."""
        future = self._claims.put(demand, wait)
        try:
            claimed: Sequence[Claimed] = await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                # It was handed over, and its caller was cancelled before it could take it.
                self._home.call_soon_threadsafe(self._give_back, future.result())
            raise
        return claimed

    async def change(self, work: Work[Answer]) -> Answer:
        """Do a rare change in a transaction of its own; it is finished though its caller goes."""
        return await self._at_home(lambda: self._change(work))

    async def read(self, read: Callable[[Backend], Awaitable[Answer]]) -> Answer:
        """A read's answer."""
        return await self._at_home(lambda: self._read(read))

    async def warm(self, *, workers: bool) -> None:
        """Make what is on every task's path ready for the first one, if that can be done now."""
        try:
            await self._at_home(lambda: warming.warm(self._connections, workers=workers))
        except (StoreUnavailable, OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            _log.info("the first tasks will take longer: %s", refusals.reason(error))

    def rules_changed(self) -> None:
        """A rule was changed: claim by it from now on."""
        self._home.call_soon_threadsafe(self._claim_anew)

    def _claim_anew(self) -> None:
        self._rules.forget()
        self._claims.wake()

    def rated(self, records: Sequence[LaneRecord]) -> Sequence[LaneRecord]:
        """The records with their lanes' rates."""
        return self._rates.added(records)

    async def close(self) -> None:
        """Write what is queued, end the loops, close the connections."""
        if asyncio.get_running_loop() is self._home:
            await self._close()
        else:
            future = asyncio.run_coroutine_threadsafe(self._close(), self._home)
            await asyncio.wrap_future(future)

    async def _at_home(self, call: Callable[[], Coroutine[Any, Any, Answer]]) -> Answer:
        if self.closing:
            raise StoreUnavailable(CLOSING)
        if asyncio.get_running_loop() is self._home:
            return await call()
        try:
            future = asyncio.run_coroutine_threadsafe(call(), self._home)
        except RuntimeError as error:
            raise StoreUnavailable(CLOSING) from error
        return await asyncio.wrap_future(future)

    # In the store's event loop

    async def _close(self) -> None:
        self.closing = True
        await self._claims.close()
        await self._telling.close()
        self._aside.close()
        lanes = (self._submits, self._named, self._writes, *self._more)
        await asyncio.gather(*(lane.close() for lane in lanes))
        await self._doorbells.close()
        await self._connections.close()

    async def _change(self, work: Work[Answer]) -> Answer:
        return await asyncio.shield(
            self._home.create_task(self._bounded(self._changing, partial(self._do, work)))
        )

    async def _do(self, work: Work[Answer]) -> Answer:
        try:
            transaction, answer = await perform(self._connections, self.moment, work)
        except Exception as error:
            raise refusals.refusal(error) from error
        self._announce(transaction)
        return answer

    async def _read(self, read: Callable[[Backend], Awaitable[Answer]]) -> Answer:
        async def once() -> Answer:
            try:
                async with self._connections.one() as backend:
                    return await read(backend)
            except Exception as error:
                raise refusals.refusal(error) from error

        try:
            return await self._bounded(self._reading, once)
        except StoreUnavailable:
            # An idle connection may have died unseen, as when the server was restarted.
            return await self._bounded(self._reading, once)

    async def _bounded(
        self, most: asyncio.Semaphore, call: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        if self._waiting >= _MOST_WAITING:
            raise StoreUnavailable("Too much waits for the database; try again in a moment.")
        self._waiting += 1
        try:
            async with most:
                return await call()
        finally:
            self._waiting -= 1

    async def _write_submits(self, batch: list[Intent]) -> Results:
        news = [intent.argument for intent in batch]
        transaction, answers = await perform(
            self._connections,
            self.moment,
            lambda tx: submitting.submit(tx, news, self.limits),
            "submits",
        )
        self._announce(transaction)
        return list(zip(batch, answers, strict=True))

    async def _write_named(self, batch: list[Intent]) -> Results:
        return self._aside.answered(await self._write_submits(batch))

    async def _write_writes(self, batch: list[Intent]) -> Results:
        writes = [intent.argument for intent in batch]
        transaction, answers = await perform(
            self._connections,
            self.moment,
            lambda tx: writing.write(tx, writes, self._held),
            "writes",
        )
        self._announce(transaction)
        if self._held_back:
            # What a rule held back may start once something else has ended.
            self._claims.wake()
        return list(zip(batch, answers, strict=True))

    async def _serve(self, demand: Demand, lease_id: str) -> Sequence[Claimed]:
        await self._settle_doubts()
        try:
            transaction, claimed = await perform(
                self._connections,
                self.moment,
                lambda tx: claiming.claim(tx, demand, lease_id, self._rules),
                "claims",
            )
        except InDoubt as error:
            self._doubtful.append((lease_id, error))
            raise
        places = {task.task_id: (task.type, task.lane) for task in claimed}
        self._held.took(lease_id, places, transaction.keys)
        self._held_back = transaction.held_back
        self._announce(transaction)
        if transaction.turns:
            await self._advance(transaction.turns)
        return claimed

    async def _advance(self, taken: Counter[tuple[str, str]]) -> None:
        try:
            await perform(self._connections, self.moment, lambda tx: claiming.advance(tx, taken))
        except Exception as error:  # noqa: BLE001  # the claim is made, and nobody may lose it
            _log.warning("the turns of tenants were not noted: %s", refusals.reason(error))

    async def _settle_doubts(self) -> None:
        """Give back what earlier claims have taken that nobody has heard of."""
        while self._doubtful:
            lease_id, doubt = self._doubtful[0]
            await self._connections.bury(doubt.pid, doubt.born)
            give_back = partial(claiming.give_back, lease_id=lease_id)
            transaction, _ = await perform(self._connections, self.moment, give_back)
            self._announce(transaction)
            del self._doubtful[0]

    def _take_back(self, answers: Results) -> None:
        """Claims whose caller has gone."""
        for _, result in answers:
            if not isinstance(result, BaseException):
                self._give_back(result)

    def _give_back(self, claimed: Sequence[Claimed]) -> None:
        for task in claimed:
            self._writes.send(Write(Kind.SETTLE, task.lease, Drained()))

    def _announce(self, transaction: Transaction) -> None:
        self._held.ended(transaction.over)
        if transaction.pooled:
            self._claims.wake()
        if transaction.woken:
            self._telling.ring()
        self._rates.count(transaction.counts)
        self._doorbells.ring(transaction.pooled, transaction.counts)
        if not (transaction.events or transaction.cancels):
            return
        try:
            self._committed(transaction.news)
        except Exception:  # noqa: BLE001  # what is committed is committed
            _log.exception("the doorbells of a commit failed")


def _seconds(batch: list[Intent]) -> list[Intent]:
    later = submitting.seconds(intent.argument for intent in batch)
    return [intent for intent in batch if id(intent.argument) in later] if later else []
