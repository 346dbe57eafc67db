"""What a process learns of the times of tasks."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from engine_kit.engine import finished, running
from engine_kit.kit_app import app
from stagepost.errors import StoreUnavailable
from stagepost.learning import Learner
from stagepost.records import Claimed
from stagepost.testing import FakeClock

CLAIM = Claimed(
    "id", 1, "lease", "acme", "ada", "review", "interactive", 1, 4, 1_000, 0, None, 0, 0, 0, "", 2,
    "{}",
)  # fmt: skip


class Books:
    """The part of a store that a learner uses."""

    def __init__(self) -> None:
        self.history = self
        self.kept: list[dict[tuple[str, int], list[int]]] = []
        self.up = True

    async def add(self, took: Mapping[tuple[str, int], Sequence[int]]) -> None:
        if not self.up:
            raise StoreUnavailable("away")
        self.kept.append({place: list(times) for place, times in took.items()})


@pytest.fixture
def books() -> Books:
    return Books()


@pytest.fixture
def learner(books: Any) -> Learner:
    return Learner(books, FakeClock())


async def test_times_are_gathered_by_type_and_size(learner: Learner, books: Books) -> None:
    learner.saw(CLAIM, 0.0, 1.5)
    learner.saw(CLAIM._replace(age=10_000), 2.0, 2.25)
    learner.saw(CLAIM._replace(upload_bytes=3_000), 1.0, 3.0)
    learner.saw(CLAIM._replace(type="scan"), 0.0, 3.0)
    await learner.keep()
    assert books.kept == [
        {
            ("review", 0): [1_500, 10_250],
            ("review", 2): [2_000],
            ("scan", 0): [3_000],
            ("lane interactive", 0): [1_500, 250, 2_000, 3_000],
        }
    ]
    await learner.keep()
    assert len(books.kept) == 1


async def test_a_flood_costs_no_more_than_a_few(learner: Learner, books: Books) -> None:
    for number in range(10_000):
        learner.saw(CLAIM, 0.0, float(number))
    learner.saw(CLAIM._replace(type="rare"), 0.0, 1.0)
    await learner.keep()
    assert len(books.kept[0]["review", 0]) == 16
    assert books.kept[0]["rare", 0] == [1_000]


async def test_of_many_in_a_moment_one_is_enough(learner: Learner, books: Books) -> None:
    for number in range(1_000):
        learner.saw(CLAIM, 0.0, 1.0 + number / 20_000)
        learner.saw(CLAIM._replace(type="scan"), 0.0, 1.0 + number / 20_000)
    await learner.keep()
    assert [len(times) for times in books.kept[0].values()] == [5, 10, 5]


async def test_an_outage_drops_times_and_harms_nobody(learner: Learner, books: Books) -> None:
    books.up = False
    learner.saw(CLAIM, 0.0, 1.0)
    await learner.keep()
    books.up = True
    learner.saw(CLAIM, 0.0, 2.0)
    await learner.keep()
    assert books.kept == [{("review", 0): [2_000], ("lane interactive", 0): [2_000]}]


async def test_the_last_times_are_kept_at_the_end(learner: Learner, books: Books) -> None:
    running = asyncio.create_task(learner.run())
    await asyncio.sleep(0)
    learner.saw(CLAIM, 0.0, 1.0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert books.kept == [{("review", 0): [1_000], ("lane interactive", 0): [1_000]}]


async def test_an_engine_learns_from_what_it_completes(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        sent = [await engine.client.submit("tell", {"words": ["a"]}) for _ in range(3)]
        failed = await engine.client.submit("fail", {"how": "invalid"})
        for submitted in (*sent, failed):
            await finished(engine, submitted.task_id)
        await engine.learner.keep()
        history = await engine.store.history.all()
    assert set(history) == {"tell", "lane interactive"}
    assert history["tell"].keys() == {0}
    assert 1 <= len(history["tell"][0]) <= 3
