"""The handlers' event loop: apart from the main one, hard to kill, seen from outside."""

import asyncio
import sys
import time
from collections.abc import Iterator
from contextvars import ContextVar

import pytest

from stagepost.handlers_loop import HandlersLoop

WHO: ContextVar[str] = ContextVar("who")


@pytest.fixture
def loop() -> Iterator[HandlersLoop]:
    loop = HandlersLoop()
    loop.start()
    yield loop
    loop.stop()
    assert not loop.alive


async def leave(*, in_branch: bool) -> str:
    async def branch() -> None:
        sys.exit(3)

    if in_branch:
        await asyncio.gather(branch(), asyncio.sleep(0.01))
    await branch()
    return "went on"


@pytest.mark.parametrize("in_branch", [False, True])
def test_who_wants_to_end_the_process_ends_nobody_else(
    *, in_branch: bool, loop: HandlersLoop
) -> None:
    for _ in range(3):
        neighbour = loop.submit(asyncio.sleep(0.05, "there"))
        leaving = loop.submit(leave(in_branch=in_branch))
        assert isinstance(leaving.exception(10), SystemExit)
        assert neighbour.result(10) == "there"
    assert loop.alive


def test_a_blocked_loop_is_seen_with_who_blocks_it(loop: HandlersLoop) -> None:
    async def block() -> None:
        time.sleep(0.5)  # noqa: ASYNC251  # that is the fault

    async def handler() -> None:
        WHO.set("the culprit")
        await asyncio.gather(block())

    assert loop.silent_for() == 0
    done = loop.submit(handler())
    limit = time.monotonic() + 10
    while loop.silent_for() < 0.1 and time.monotonic() < limit:
        time.sleep(0.01)
    assert loop.busy_with(WHO) == "the culprit"
    assert "time.sleep" in loop.stack()
    done.result(10)
    loop.submit(asyncio.sleep(0.01)).result(10)
    loop.silent_for()
    assert loop.silent_for() < 0.1
    assert loop.busy_with(WHO) is None


def test_what_still_runs_at_the_end_is_cancelled() -> None:
    loop, ended = HandlersLoop(), []
    loop.start()

    async def forever() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cleaned up")

    loop.submit(forever())
    loop.submit(asyncio.sleep(0.01)).result(10)
    loop.stop()
    assert ended == ["cleaned up"]
    loop.call(ended.append, "too late")
    assert ended == ["cleaned up"]
    never = asyncio.sleep(0)
    with pytest.raises(RuntimeError):
        loop.submit(never)
    never.close()
