"""How what was written is told to whoever awaits it, in whatever event loop that is."""

import asyncio
from collections.abc import Callable, Sequence
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
    by_loop: dict[asyncio.AbstractEventLoop | None, list[tuple[Wish, Any]]] = {}
    for answer in results:
        future = answer[0].future
        loop = home if future is None else future.get_loop()
        by_loop.setdefault(loop, []).append(answer)
    for loop, answers in by_loop.items():
        if loop is home or loop is None:
            _give(answers, left_over)
            continue
        try:
            loop.call_soon_threadsafe(_give, answers, left_over)
        except RuntimeError:
            # The loop was closed: nobody is left there to be told.
            left_over(answers)


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
