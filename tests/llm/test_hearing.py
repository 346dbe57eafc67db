"""What is heard of limits is told to the limiter at once, and once."""

import asyncio

from stagepost.errors import LimiterUnavailable
from stagepost.llm.hearing import Hearing
from stagepost.llm.provider import Heard

EARLY = Heard("req-1", "large", {"x-ratelimit-remaining-requests": "3"})


class Told:
    def __init__(self) -> None:
        self.heard: list[Heard] = []
        self.free = asyncio.Event()

    async def heed(self, heard: Heard) -> None:
        await self.free.wait()
        self.heard.append(heard)


async def test_what_was_told_early_is_not_told_again() -> None:
    told = Told()
    hearing = Hearing(told.heed)
    hearing.hear(EARLY)
    hearing.hear(EARLY)
    assert told.heard == [], "the answer does not wait for the limiter"
    told.free.set()
    assert (await hearing.rest(EARLY)).limits == {}
    assert told.heard == [EARLY]


async def test_what_was_not_told_is_left() -> None:
    hearing = Hearing(Told().heed)
    await hearing.over()
    assert await hearing.rest(EARLY) == EARLY


async def test_a_limiter_that_is_away_keeps_no_answer() -> None:
    async def away(heard: Heard) -> None:
        raise LimiterUnavailable(f"nobody hears {heard.request_id}")

    hearing = Hearing(away)
    hearing.hear(EARLY)
    assert (await hearing.rest(EARLY)).request_id == "req-1"
