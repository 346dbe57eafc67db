"""A real Context over a journal in memory, for tests of a handler's hand in the engine."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stagepost.context import Context, Facts
from stagepost.gate import Gate
from stagepost.journal import NewStep
from stagepost.testing.memory_journal import MemoryJournal
from stagepost.threads import InThreads, Threads


class Hand:
    """One claim: its journal, its gate, and how to run a handler under them."""

    def __init__(
        self,
        checkpoints: Mapping[str, NewStep] | None = None,
        signals: Mapping[str, Sequence[Any]] | None = None,
        *,
        skip_time: bool = True,
    ) -> None:
        self.journal = MemoryJournal({}, checkpoints or {}, signals, skip_time=skip_time)
        self.gate = Gate()
        facts = Facts("task-1", "acme", "ann", "a-type", 1, "0" * 32)
        self.context = Context(facts, self.journal, self.gate, InThreads(Threads(64)))

    async def run(self, handler: Callable[[Context], Any]) -> Any:
        async def call(ctx: Context, _request: Any) -> Any:
            return await handler(ctx)

        return await self.context.call_handler(call, None)

    def again(self) -> "Hand":
        """A later claim of the same task."""
        return Hand(self.journal.steps)


async def settle_down() -> None:
    """Let everything that can go on without waiting go on."""
    for _ in range(20):
        await asyncio.sleep(0)
