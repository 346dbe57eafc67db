"""What `ctx.limit` gives: units of limits, for the step that follows or for a block.

On a replay a saved step is not run, so it must use up nothing either. While saved steps of an
earlier claim are still to come in the scope of a permit, its units are therefore not taken at once
but when a step starts that is not saved: the next one after an awaited permit, any one within the
block of a permit. If none does, nothing is taken.
"""

import asyncio
import warnings
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Final, Self

from stagepost.flight import BranchWait, Flight
from stagepost.gate import Gate
from stagepost.journal import Journal
from stagepost.scope import Scope
from stagepost.waiting import LimitFree

PATIENCE: Final = 5.0
"""Seconds of waiting in place, where the step that waits counts as running."""

_RESTS: Final = 5.0  # seconds between two looks while others of the handler run


class Permit(AbstractAsyncContextManager["Permit"]):
    """Awaited, or entered as a block; once."""

    def __init__(
        self, wants: Mapping[str, int], scope: Scope, journal: Journal, gate: Gate
    ) -> None:
        self._wants = wants
        self._scope = scope
        self._journal = journal
        self._gate = gate
        self._place = scope.number("limit " + " ".join(sorted(wants)))
        self._taking = asyncio.Lock()
        self._taken = False
        self._over = False
        self._begun = False
        self.is_of_block = False

    def __del__(self) -> None:
        """Tell of an `await` that was forgotten."""
        if not self._begun:
            names = ", ".join(self._wants)
            warnings.warn(
                f'ctx.limit("{names}") was neither awaited nor entered by "async with", and has '
                "limited nothing.",
                RuntimeWarning,
                stacklevel=2,
            )

    def __await__(self) -> Any:
        """Take the units for the step that follows, or for the one in which this stands."""
        return self._awaited().__await__()

    async def _awaited(self) -> None:
        if await self.begin():
            self.owe()

    async def __aenter__(self) -> Self:
        """Take the units for the block."""
        self.is_of_block = True
        if await self.begin():
            self.owe()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """What is held is free."""
        self.owe_no_more()
        await self.end()

    async def begin(self) -> bool:
        """Take the units; or answer that they are owed until a step starts that is not saved."""
        self._begun = True
        self._gate.used()
        self._gate.check()
        self._scope.permits.append(self)
        if await self._journal.replays(self._scope.path):
            return True
        await self.take(self._scope.flight)
        return False

    def owe(self) -> None:
        """From here on a step that is not saved takes the units first."""
        OWED.set((*OWED.get(), self))

    def owe_no_more(self) -> None:
        """The block has ended."""
        OWED.set(tuple(permit for permit in OWED.get() if permit is not self))

    async def take(self, around: Flight | None) -> None:
        """Take the units once, and wait for them: in place if it is short, else as a branch."""
        async with self._taking:
            while not (self._taken or self._over):
                if self._gate.closed:
                    await self._gate.hold(around)
                verdict = await self._journal.reserve(self._place, self._wants, PATIENCE)
                self._taken = verdict.granted
                if not verdict.granted:
                    condition = LimitFree(verdict.limit, verdict.wait)
                    async with BranchWait(self._gate, condition, around) as wait:
                        await wait.rest(min(_RESTS, max(0.1, verdict.wait - PATIENCE / 2)))

    async def end(self) -> None:
        """What is held is free; who still wants the units comes too late."""
        self._over = True
        if self._taken:
            await self._journal.release(self._place)


OWED: Final[ContextVar[tuple[Permit, ...]]] = ContextVar("stagepost_owed", default=())
"""Permits whose units are taken before the next step that is not saved."""


async def pay(around: Flight | None) -> None:
    """Take what is owed before a step that starts now."""
    for permit in OWED.get():
        await permit.take(around)


def forgive() -> None:
    """The step has ended that awaited permits were for; those of blocks go on."""
    if OWED.get():
        OWED.set(tuple(permit for permit in OWED.get() if permit.is_of_block))
