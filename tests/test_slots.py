"""How a worker's slots are filled, on a store that answers when the test says so."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from engine_kit.engine import until
from stagepost import App
from stagepost.errors import StoreUnavailable
from stagepost.outcome import Drained
from stagepost.records import Claimed, Demand
from stagepost.slots import Slots
from stagepost.worker_lease import WorkerLease
from support.claims import CLAIM

COUNT = 1_300
app = App()


@app.task("review")
async def review(ctx: Any, request: dict[str, Any]) -> None: ...


@dataclass
class Desk:
    """A store that keeps its answers back."""

    asked: list[tuple[int, "asyncio.Future[Sequence[Claimed]]"]] = field(default_factory=list)
    """How many tasks each claim may take, and its answer."""
    given_back: list[str] = field(default_factory=list)
    _given: int = 0

    async def claim(self, demand: Demand, *, wait: float) -> Sequence[Claimed]:
        del wait
        answer: asyncio.Future[Sequence[Claimed]] = asyncio.get_running_loop().create_future()
        self.asked.append((demand.slots, answer))
        return await answer

    async def settle(self, lease: Any, outcome: Any) -> None:
        assert isinstance(outcome, Drained)
        self.given_back.append(lease.task_id)

    def give(self, claim: int, tasks: int) -> None:
        """Answer a claim."""
        self._given += tasks
        named = range(self._given - tasks, self._given)
        self.asked[claim][1].set_result(
            [CLAIM._replace(task_id=f"{n}", type="review") for n in named]
        )


@dataclass
class Handlers:
    """An executor whose handlers run until the test lets them go."""

    free: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, running: Any, watcher: Any) -> None:
        await self.free.wait()
        watcher.handled(running)
        watcher.closed(running)


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def handlers() -> Handlers:
    return Handlers()


@pytest.fixture
async def slots(desk: Desk, handlers: Handlers) -> AsyncIterator[Slots]:
    store: Any = desk
    executor: Any = handlers
    slots = Slots(app, store, executor, {"interactive": 1}, COUNT, WorkerLease(15.0))
    working = asyncio.create_task(slots.work())
    yield slots
    handlers.free.set()
    slots.drain()
    for _, answer in desk.asked:
        if not answer.done():
            answer.set_result([])
    async with asyncio.timeout(10):
        await working


def sizes(desk: Desk) -> list[int]:
    return [size for size, _ in desk.asked]


async def test_a_claim_that_came_back_full_has_the_next_one_behind_it(
    slots: Slots, desk: Desk
) -> None:
    await until(lambda: sizes(desk) == [512])
    await asyncio.sleep(0.05)
    assert sizes(desk) == [512], "nothing says yet that there is so much to do"
    desk.give(0, 512)
    await until(lambda: sizes(desk) == [512, 512, 276])
    assert len(slots.running) + 512 + 276 == COUNT, "never more than there are slots"
    desk.give(1, 512)
    desk.give(2, 276)
    await until(lambda: len(slots.running) == COUNT)
    await asyncio.sleep(0.05)
    assert sizes(desk) == [512, 512, 276]


async def test_a_claim_that_came_back_with_less_is_alone_again(slots: Slots, desk: Desk) -> None:
    await until(lambda: desk.asked)
    desk.give(0, 100)
    await until(lambda: len(desk.asked) == 2)
    await asyncio.sleep(0.05)
    assert sizes(desk) == [512, 512]
    assert len(slots.running) == 100


async def test_a_drain_gives_back_what_the_claims_on_their_way_take(
    slots: Slots, desk: Desk
) -> None:
    await until(lambda: desk.asked)
    desk.give(0, 512)
    await until(lambda: len(desk.asked) == 3)
    slots.drain()
    desk.give(1, 512)
    desk.give(2, 276)
    await until(lambda: len(desk.given_back) == 512 + 276)
    assert len(slots.running) == 512
    await asyncio.sleep(0.05)
    assert len(desk.asked) == 3, "and nothing more is asked for"


async def test_a_failing_store_leaves_no_slot_reserved(
    slots: Slots, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stagepost.slots._PAUSE", 0.01)
    await until(lambda: desk.asked)
    desk.give(0, 512)
    await until(lambda: len(desk.asked) == 3)
    for _, answer in desk.asked[1:]:
        answer.set_exception(StoreUnavailable("away"))
    await until(lambda: len(desk.asked) == 4)
    await asyncio.sleep(0.05)
    assert sizes(desk)[3:] == [512]
    assert len(slots.running) == 512
