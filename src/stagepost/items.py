"""The items of a map: their labels, their running side by side, and their ticks."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

Item = TypeVar("Item")

MOST_ITEMS: Final = 10_000
"""Items of one map."""

Tell = Callable[[float, str], Awaitable[None]]
"""Takes a percentage and a message."""


class Ticks:
    """A map's progress: one tick an item, from the first number of its span to the second."""

    def __init__(self, tell: Tell, total: int, span: tuple[int, int] | None, message: str) -> None:
        self._tell = tell
        self._total = total
        self._span = span
        self._message = message
        self._done = 0

    async def tick(self) -> None:
        """One more item is saved."""
        self._done += 1
        if self._span is not None:
            low, high = self._span
            percent = low + (high - low) * self._done / self._total
            await self._tell(percent, self._message.format(n=self._done, total=self._total))


def labelled(
    items: Sequence[Item], key: Callable[[Item], str] | None
) -> Sequence[tuple[str, Item]]:
    """Each item with its number or key. Raises ValueError for too many, or for a key twice."""
    if len(items) > MOST_ITEMS:
        raise ValueError(
            f"A map takes {MOST_ITEMS} items, not {len(items)}; map over groups of them."
        )
    labels = [str(n) if key is None else str(key(item)) for n, item in enumerate(items)]
    if len(set(labels)) != len(labels):
        raise ValueError("Two items of a map have the same key.")
    return list(zip(labels, items, strict=True))


async def side_by_side(
    one: Callable[[str, Item], Awaitable[Any]],
    work: Sequence[tuple[str, Item]],
    concurrency: int,
) -> list[Any]:
    """What `one` answers for each, in order, at most `concurrency` at once.

    After an error nothing new starts; it is raised when all that had started have ended.
    """
    results: list[Any] = [None] * len(work)
    errors: list[BaseException] = []
    queue: Iterator[tuple[int, tuple[str, Item]]] = iter(enumerate(work))

    async def runner() -> None:
        for number, (label, item) in queue:
            try:
                results[number] = await one(label, item)
            except asyncio.CancelledError as error:
                if _is_cancelled():
                    raise
                # The function's own: a group would take it for the end of this branch.
                errors.append(RuntimeError("A step of a map was cancelled from within."))
                errors[-1].__cause__ = error
            except Exception as error:  # noqa: BLE001  # raised below, when all have landed
                errors.append(error)
            if errors:
                return

    async with asyncio.TaskGroup() as group:
        for _ in range(min(concurrency, len(work))):
            group.create_task(runner())
    if errors:
        raise errors[0]
    return results


def _is_cancelled() -> bool:
    current = asyncio.current_task()
    return current is not None and bool(current.cancelling())
