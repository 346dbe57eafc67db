"""Whatever happens, and wherever a reader is cut: it misses nothing and sees nothing twice."""

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from stagepost.records import Claimed, Resume, Scope
from stagepost.task import CancelRequest
from web.kit import Engine, Session
from web.sse_reader import reading

ALL = Scope(None)

MOVES = st.lists(st.sampled_from(["progress", "step", "fail", "bury", "park"]), max_size=12)
CUTS = st.lists(st.integers(0, 6), min_size=1, max_size=8)


def test_no_reader_misses_an_event_or_sees_one_twice(session: Session) -> None:
    """Random histories, and readers that are cut after so many events and come back."""

    @settings(max_examples=150, deadline=None)
    @given(MOVES, CUTS, st.sampled_from(["complete", "bury", "cancel"]))
    def holds(moves: list[str], cuts: list[int], end: str) -> None:
        session.run(_relay(session, moves, cuts, end))

    holds()


async def _relay(session: Session, moves: list[str], cuts: list[int], end: str) -> None:
    engine = session.engine
    task_id = (await engine.submit()).task_id
    living = asyncio.create_task(_live(engine, task_id, moves, end))
    seen = await _read_in_turns(session.app, task_id, cuts, living)
    await living
    history = await engine.store.events(task_id, 0, 1000)
    assert seen == [event.seq for event in history]


async def _live(engine: Engine, task_id: str, moves: list[str], end: str) -> None:
    task = await engine.worker.claim()
    for number, move in enumerate(moves):
        if move == "progress":
            await engine.worker.progress(task, number * 5)
        elif move == "step":
            await engine.worker.step(task, str(number))
        else:
            task = await _again(engine, task, move)
        await asyncio.sleep(0)
    if end == "cancel":
        await engine.store.cancel(task_id, ALL, CancelRequest("ann"))
        await engine.worker.obey(task)
    else:
        await getattr(engine.worker, end)(task)


async def _again(engine: Engine, task: Claimed, move: str) -> Claimed:
    """Lose the task in one of the ways after which it comes back, and claim it again."""
    from stagepost.outcome import Drained  # noqa: PLC0415

    last_try = task.attempt >= task.max_attempts
    if move == "bury" or (move == "fail" and last_try):
        await engine.worker.bury(task)
        await engine.store.redrive(task.task_id, ALL, "ann", Resume(), 4)
    elif move == "fail":
        await engine.worker.fail(task, delay=0.0)
        await engine.store.release_due(10)
    else:
        await engine.worker.settle(task, Drained())
    return await engine.worker.claim()


async def _read_in_turns(
    app: Any, task_id: str, cuts: list[int], living: "asyncio.Task[None]"
) -> list[int]:
    seen: list[int] = []
    last = "0"
    for turn in range(500):
        count = cuts[turn] if turn < len(cuts) else 1000
        # A dead letter that is about to be sent back has, for a moment, nothing behind it.
        over = living.done()
        async with reading(app, task_id, last=last) as stream:
            if stream.status == 204 and over:
                return seen
            await stream.until(
                lambda stream=stream, count=count: (  # type: ignore[misc]
                    stream.closed or len(stream.parsed.seqs) >= count
                )
            )
        # The client has whatever reached it before it went, which may be more than it asked for.
        seen += stream.parsed.seqs
        last = str(seen[-1]) if seen else "0"
        await asyncio.sleep(0.001)
    raise AssertionError("the stream never ends")
