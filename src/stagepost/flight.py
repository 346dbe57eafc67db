"""What stands at the gate: a step in flight, and a branch that waits."""

import asyncio
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Self

from stagepost.gate import Gate, Unwound
from stagepost.waiting import Condition


class Flight(AbstractAsyncContextManager["Flight"]):
    """One step in flight, within the one `around` it; while a branch inside stands, it does so."""

    __slots__ = ("_around", "_blocked", "_counted", "_gate", "_inside")

    def __init__(self, gate: Gate, around: "Flight | None") -> None:
        self._gate = gate
        self._around = around
        self._inside = False
        self._counted = False
        self._blocked = 0

    async def __aenter__(self) -> Self:
        """Take off, or be held."""
        if self._gate.closed:
            await self._gate.hold(self._around)
        self._inside = self._counted = True
        self._gate.took_off()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Land."""
        self._inside = False
        self._land()

    def block(self) -> None:
        """A branch inside stands still: neither this nor what is around it moves any more."""
        self._blocked += 1
        self._land()
        if self._around is not None:
            self._around.block()

    def unblock(self) -> None:
        """A branch inside goes on: if it was the last one, this moves again."""
        self._blocked -= 1
        if self._inside and not self._counted and not self._blocked:
            self._counted = True
            self._gate.took_off()
        if self._around is not None:
            self._around.unblock()

    def _land(self) -> None:
        if self._counted:
            self._counted = False
            self._gate.landed()


class BranchWait(AbstractAsyncContextManager["BranchWait"]):
    """One branch that waits; while it does, `around`, the step that it stands in, does not fly.

    A brief wait is not worth a replay: while there is one the handler stays, unless its claim must
    end for another reason.
    """

    __slots__ = ("_around", "_gate", "_rest", "brief", "condition")

    def __init__(
        self, gate: Gate, condition: Condition, around: Flight | None, *, brief: bool = False
    ) -> None:
        self.condition = condition
        self.brief = brief
        self._gate = gate
        self._around = around
        self._rest: asyncio.Future[None] | None = None

    async def __aenter__(self) -> Self:
        """Begin to wait."""
        self._gate.check()
        if self._gate.unwinding:
            raise Unwound
        self._gate.waits(self)
        if self._around is not None:
            self._around.block()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """The branch goes on, or is unwound."""
        self._gate.waits_no_more(self)
        if self._around is not None and not self._gate.unwinding:
            self._around.unblock()

    async def rest(self, seconds: float | None) -> None:
        """Return after so many seconds, or never; ends by Unwound when all branches wait."""
        if self._gate.unwinding:
            raise Unwound
        loop = asyncio.get_running_loop()
        self._rest = rest = loop.create_future()
        timer = None if seconds is None else loop.call_later(seconds, self._over)
        try:
            await rest
        finally:
            self._rest = None
            if timer is not None:
                timer.cancel()

    def unwind(self) -> None:
        """Raise Unwound in the branch."""
        if self._rest is not None and not self._rest.done():
            self._rest.set_exception(Unwound())

    def cancel(self) -> None:
        """The handler has ended without this branch."""
        if self._rest is not None:
            self._rest.cancel()

    def _over(self) -> None:
        if self._rest is not None and not self._rest.done():
            self._rest.set_result(None)
