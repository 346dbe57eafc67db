"""Submit tasks one call at a time, many calls awaited at once."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

IN_FLIGHT = 1_000


async def from_coroutines(submit: Callable[[int], Awaitable[object]], tasks: int) -> None:
    """A thousand coroutines, each awaiting one call at a time."""
    async with asyncio.TaskGroup() as group:
        for first in range(IN_FLIGHT):
            group.create_task(_one_by_one(submit, range(first, tasks, IN_FLIGHT)))


async def _one_by_one(submit: Callable[[int], Awaitable[object]], numbers: range) -> None:
    for number in numbers:
        await submit(number)


def from_threads(submit: Callable[[int], object], tasks: int, threads: int) -> None:
    """For peers whose calls block: more threads than help only fight for the interpreter lock."""

    def some(first: int) -> None:
        for number in range(first, tasks, threads):
            submit(number)

    with ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(some, first) for first in range(threads)]:
            future.result()
