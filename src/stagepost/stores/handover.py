"""How what was written is told to whoever awaits it, in whatever event loop that is."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar


class Awaited(Protocol):
    """One caller's wish; `future` is where the caller awaits, None when nobody does."""

    future: "asyncio.Future[Any] | None"


Wish = TypeVar("Wish", bound=Awaited)
LeftOver = Callable[[list[tuple[Wish, Any]]], None]


def hand_over(
    results: Sequence[tuple[Wish, Any]],
    left_over: LeftOver[Wish],
    home: asyncio.AbstractEventLoop | None = None,
) -> None:
    """Give each its result, once for each event loop; one that is an exception is raised there.

    Results whose callers have gone are `left_over`, which may be called in any of the loops. `home`
    is the loop in which this is called, if it is one.
    """
    for loop, answers in _by_loop(results, home):
        if loop is home or loop is None:
            _give(answers, left_over)
            continue
        try:
            loop.call_soon_threadsafe(_give, answers, left_over)
        except RuntimeError:
            # The loop was closed: nobody is left there to be told.
            left_over(answers)


def _by_loop(
    results: Sequence[tuple[Wish, Any]], home: asyncio.AbstractEventLoop | None
) -> Iterator[tuple[asyncio.AbstractEventLoop | None, list[tuple[Wish, Any]]]]:
    loops = [home if (future := wish.future) is None else future.get_loop() for wish, _ in results]
    for loop in dict.fromkeys(loops):
        if len(results) == loops.count(loop):
            yield loop, list(results)
        else:
            yield loop, [each for each, its in zip(results, loops, strict=True) if its is loop]


def _give(answers: list[tuple[Wish, Any]], left_over: LeftOver[Wish]) -> None:
    left = []
    for wish, result in answers:
        future = wish.future
        if future is None or future.done():
            left.append((wish, result))
        elif isinstance(result, BaseException):
            future.set_exception(result)
        else:
            future.set_result(result)
    if left:
        left_over(left)
