"""The watch over tasks whose version of the code no worker runs."""

import logging
from typing import Any

import pytest

from stagepost.errors import StoreUnavailable
from stagepost.maintenance.versions import VersionWatch
from stagepost.records import WorkerRecord
from stagepost.testing import FakeClock
from stagepost.versions import Stamped

LEASE = 15.0
OLD = Stamped("interactive", "review", 1, 7)


class Books:
    """The part of a store that the watch uses."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.up = True
        self.leads = True
        self.queued = [OLD]
        self.versions: list[tuple[int, ...]] = [(2,)]
        self.silent = False

    async def lead(self, name: str, holder: str, seconds: float) -> bool:
        return self.leads

    async def stamped(self) -> list[Stamped]:
        if not self.up:
            raise StoreUnavailable("away")
        return self.queued

    async def workers(self) -> list[WorkerRecord]:
        beat_at = 0 if self.silent else self.clock.now()
        return [
            WorkerRecord(
                str(number), "w", ("interactive",), ("review",), 8, "1", beat_at=beat_at,
                versions={"review": versions},
            )
            for number, versions in enumerate(self.versions)
        ]  # fmt: skip


class Scene:
    def __init__(self, log: pytest.LogCaptureFixture) -> None:
        self.clock = FakeClock()
        self.books = Books(self.clock)
        store: Any = self.books
        self.watch = VersionWatch(store, self.clock, LEASE)
        self.log = log
        log.set_level(logging.INFO, "stagepost.versions")

    async def minutes(self, count: float) -> list[str]:
        """What is said while so many minutes pass."""
        self.log.clear()
        for _ in range(round(count * 4)):
            self.clock.advance(15)
            await self.watch.look()
        return [f"{record.levelname} {record.getMessage()}" for record in self.log.records]


@pytest.fixture
def scene(caplog: pytest.LogCaptureFixture) -> Scene:
    return Scene(caplog)


async def test_it_warns_once_after_five_minutes(scene: Scene) -> None:
    assert await scene.minutes(5) == []
    (warning,) = await scene.minutes(1)
    assert warning.startswith("WARNING version 1 of review in lane interactive: 7 queued tasks")
    assert "accepts this version" in warning
    assert await scene.minutes(30) == []


async def test_it_says_when_they_are_taken_again(scene: Scene) -> None:
    await scene.minutes(6)
    scene.books.versions.append((2, 1))
    (told,) = await scene.minutes(2)
    assert told.startswith("INFO version 1 of review")
    scene.books.versions.pop()
    assert await scene.minutes(5) == []
    assert len(await scene.minutes(1)) == 1


async def test_a_worker_that_comes_in_time_is_no_alert(scene: Scene) -> None:
    await scene.minutes(4)
    scene.books.versions = [(1,)]
    await scene.minutes(1)
    scene.books.versions = [(2,)]
    assert await scene.minutes(4.5) == []


async def test_a_silent_worker_is_none(scene: Scene) -> None:
    scene.books.versions, scene.books.silent = [(1,)], True
    assert len(await scene.minutes(6)) == 1


async def test_an_empty_queue_needs_no_worker(scene: Scene) -> None:
    scene.books.queued = []
    assert await scene.minutes(10) == []


async def test_only_the_leader_looks(scene: Scene) -> None:
    scene.books.leads = False
    assert await scene.minutes(10) == []


async def test_an_outage_of_the_store_is_no_alert(scene: Scene) -> None:
    scene.books.up = False
    assert {line.split()[0] for line in await scene.minutes(6)} == {"INFO"}
