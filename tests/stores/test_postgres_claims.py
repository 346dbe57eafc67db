"""The loop that serves claims, without a database: what it does with those who come to it."""

import asyncio
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from stagepost.stores.postgres.answers import Answers
from stagepost.stores.postgres.standing import Claims


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads take turns as often as the interpreter can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


async def nothing(_demand: Any, _lease_id: str) -> tuple[()]:
    return ()


@pytest.mark.usefixtures("hasty")
async def test_claims_that_come_while_others_are_taken_in_are_all_answered() -> None:
    home = asyncio.get_running_loop()
    claims = Claims(home, nothing, Answers(home))
    answered = []

    async def ask() -> None:
        demand: Any = None
        for _ in range(10):
            async with asyncio.timeout(30):
                asked = [claims.put(demand, wait=0) for _ in range(5_000)]
                answered.extend(await asyncio.gather(*asked))

    await asyncio.gather(*(asyncio.to_thread(asyncio.run, ask()) for _ in range(2)))
    await claims.close()
    assert answered == [()] * 100_000
