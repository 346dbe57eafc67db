"""A store with a clock in the test's hand, and short words for what a test does with it.

Only the port's verbs are used here, so that every store can be put in.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from uuid_utils import uuid7

from stagepost.bus import Committed
from stagepost.choice import LaneTurns
from stagepost.clock import Clock
from stagepost.errors import Conflict
from stagepost.outcome import Outcome
from stagepost.records import (
    Checkpoint,
    Claimed,
    Demand,
    NewTask,
    ProgressNote,
    Resume,
    Scope,
    TaskView,
    WorkerRecord,
)
from stagepost.store import Store
from stagepost.stores.sqlite import SqliteStore
from stagepost.task import CancelRequest, Payload, Status, Task
from stagepost.testing import FakeClock
from stagepost.versions import Versions

Opener = Callable[..., Awaitable[Store]]
"""Opens a store that keeps its data in, or under the name of, a folder; then a clock and a bell."""

EVERYBODY = Scope(None)
ASKED = CancelRequest("ada", "no need")
LANES = {"interactive": 8, "batch": 1}
DAY = 86_400.0


async def open_sqlite(
    folder: Path,
    clock: Clock,
    committed: Callable[[Committed], None],
    max_queued: int | None = None,
) -> SqliteStore:
    """The embedded store."""
    return SqliteStore(folder, clock, committed, max_queued=max_queued)


def new_id() -> str:
    """An id as the engine makes them."""
    return str(uuid7())


def new_task(**changes: Any) -> NewTask:
    """A submit of the default kind."""
    values: dict[str, Any] = {
        "id": new_id(),
        "tenant": "acme",
        "user": "ada",
        "type": "review",
        "lane": "interactive",
        "input": '{"page":1}',
        "max_attempts": 4,
        "ttl": DAY,
    }
    return NewTask(**(values | changes))


def payload(text: str = '{"ok":true}') -> Payload:
    """A JSON value kept in its row."""
    return Payload(text, len(text.encode("utf-8", "surrogatepass")))


def checkpoint(path: str = "read#1", text: str = "1", **changes: Any) -> Checkpoint:
    """A step's result."""
    values: dict[str, Any] = {
        "name": path.split("#", maxsplit=1)[0],
        "input_hash": "hash",
        "took": 5,
    }
    return Checkpoint(path=path, value=payload(text), **(values | changes))


def note(percent: int, message: str = "", step: str | None = None) -> ProgressNote:
    """How far a task is."""
    return ProgressNote(percent, message, step)


@dataclass(frozen=True)
class Hand:
    """A registered worker, as far as the store knows one."""

    id: str
    turns: LaneTurns
    types: tuple[str, ...]
    versions: Versions = field(default_factory=dict)


class TellingClock(FakeClock):
    """A FakeClock that tells a listener whenever it is moved."""

    def __init__(self) -> None:
        super().__init__()
        self.listener: Callable[[int], None] | None = None

    def advance(self, seconds: float) -> None:
        """Move the time forward."""
        super().advance(seconds)
        self._tell()

    def set_back(self, seconds: float) -> None:
        """Move the wall time back."""
        super().set_back(seconds)
        self._tell()

    def _tell(self) -> None:
        if self.listener is not None:
            self.listener(self.now())


class World:
    """One store, its clock and its bells."""

    def __init__(
        self,
        open_store: Opener,
        folder: Path,
        clock: FakeClock,
        committed: Callable[[Committed], None] | None = None,
    ) -> None:
        self.folder = folder
        self.clock = clock
        self.bells: list[Committed] = []
        self.committed = committed or self.bells.append
        self.store: Store
        self._open = open_store
        self._hand: Hand | None = None

    async def open(self) -> None:
        """Open the store, for the first time or again."""
        self.store = await self._open(self.folder, self.clock, self.committed)

    async def reopen(self) -> None:
        """Close the store and open it again, as a restart does."""
        await self.store.close()
        await self.open()

    async def submit(self, **changes: Any) -> str:
        """Submit a task; answers its id."""
        return (await self.store.submit(new_task(**changes))).task_id

    async def worker(
        self,
        lanes: Mapping[str, int] = LANES,
        types: Sequence[str] = ("review",),
        name: str = "w",
        versions: Versions | None = None,
    ) -> Hand:
        """Register a worker."""
        hand = new_hand(lanes, types, versions)
        await self.store.register(record_of(hand, name))
        return hand

    async def hand(self) -> Hand:
        """The worker that claims when the test names none."""
        if self._hand is None:
            self._hand = await self.worker()
        return self._hand

    async def claim(
        self, slots: int = 1, *, by: Hand | None = None, wait: float = 0.0
    ) -> list[Claimed]:
        """Claim tasks."""
        hand = by or await self.hand()
        return list(await self.store.claim(demand(hand, slots), wait=wait))

    async def running(self, *, by: Hand | None = None, **changes: Any) -> Claimed:
        """A task that was submitted and claimed."""
        task_id = await self.submit(**changes)
        (claimed,) = await self.claim(by=by)
        assert claimed.task_id == task_id, "the pool held another task"
        return claimed

    async def settled(self, outcome: Outcome, **changes: Any) -> str:
        """A task whose first claim has ended so."""
        claimed = await self.running(**changes)
        await self.store.settle(claimed.lease, outcome)
        return claimed.task_id

    async def reclaim(self, task_id: str) -> Claimed:
        """The next claim of a task that is in the pool."""
        (claimed,) = await self.claim()
        assert claimed.task_id == task_id, "the pool held another task"
        return claimed

    async def lose(self) -> Hand:
        """All workers are found dead; answers a new one, which claims from now on."""
        await self.store.rescue(older_than=0)
        self._hand = await self.worker()
        return self._hand

    async def redrive(self, task_id: str, attempts: int = 4, **resume: Any) -> Task:
        """Send a dead letter back."""
        return await self.store.redrive(task_id, EVERYBODY, "ada", Resume(**resume), attempts)

    async def cancel(self, task_id: str, request: CancelRequest = ASKED) -> Task:
        """Cancel a task."""
        return await self.store.cancel(task_id, EVERYBODY, request)

    async def view(self, task_id: str) -> TaskView:
        """A task with what belongs to it."""
        return await self.store.get(task_id, EVERYBODY)

    async def task(self, task_id: str) -> Task:
        """A task."""
        return (await self.view(task_id)).task

    async def status(self, task_id: str) -> Status:
        """Where a task stands."""
        return (await self.task(task_id)).status

    async def kinds(self, task_id: str) -> list[str]:
        """What has happened to a task; checks that the numbers have no gap."""
        events = await self.store.events(task_id, 0, 1_000)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert (await self.task(task_id)).seq == len(events)
        return [event.kind for event in events]

    async def last(self, task_id: str) -> dict[str, Any]:
        """The data of a task's last event."""
        events = await self.store.events(task_id, 0, 1_000)
        return dict(events[-1].data)


def new_hand(
    lanes: Mapping[str, int] = LANES,
    types: Sequence[str] = ("review",),
    versions: Versions | None = None,
) -> Hand:
    """A worker that no store knows yet."""
    return Hand(new_id(), LaneTurns(lanes), tuple(types), versions or {})


def record_of(hand: Hand, name: str = "w") -> WorkerRecord:
    """What a store is told of it."""
    lanes = tuple(hand.turns.lanes)
    return WorkerRecord(
        hand.id, name, lanes, hand.types, slots=8, version="1", versions=hand.versions
    )


def demand(hand: Hand, slots: int) -> Demand:
    """What a worker asks for."""
    return Demand(hand.id, slots, hand.turns, hand.types, versions=hand.versions)


async def refused(call: Awaitable[Any], error: type[Exception] = Conflict) -> Exception:
    """The error with which a call was refused; fails if it was not."""
    try:
        await call
    except error as refusal:
        return refusal
    raise AssertionError("the call was not refused")


async def standing(call: Awaitable[Any]) -> "asyncio.Task[Any]":
    """A call that waits in the background, after it has had time to get there."""
    task = asyncio.ensure_future(call)
    await asyncio.sleep(0.05)
    assert not task.done()
    return task


@asynccontextmanager
async def a_world(
    open_store: Opener, folder: Path, committed: Callable[[Committed], None] | None = None
) -> AsyncIterator[World]:
    """A world that is closed in the end."""
    world = World(open_store, folder, TellingClock(), committed)
    await world.open()
    try:
        yield world
    finally:
        await world.store.close()
