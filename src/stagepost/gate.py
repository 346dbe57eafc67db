"""What lets a handler's steps start, and holds them when the claim must end.

A park, drain or cancel never interrupts a step in flight: the gate is closed, what is in flight
runs to its checkpoint, what comes next is held. Once nothing flies, the handler is *unwound*: every
held branch gets an exception that no `except Exception` can eat.

All of it happens in the event loop of the handler; nothing here is shared between threads.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Self


class Unwound(BaseException):  # like GeneratorExit, it is no error
    """Ends a handler whose claim ends; a handler has no business with it."""


class Gate:
    """One claim's gate."""

    __slots__ = (
        "_flying", "_held", "_landings", "_patient", "_when_idle", "closed", "ended", "unwinding",
    )  # fmt: skip

    def __init__(self) -> None:
        self.closed = False
        self.unwinding = False
        self.ended = False
        """True once the handler has ended; what it left running has nothing to do here."""
        self._flying = 0
        self._held: set[asyncio.Future[None]] = set()
        self._when_idle: Callable[[], None] | None = None
        self._patient = True
        self._landings: list[asyncio.Future[None]] = []

    @property
    def flying(self) -> int:
        """How many steps are in flight and not waiting for a step inside them."""
        return self._flying

    @property
    def held(self) -> int:
        """How many branches of the handler are held."""
        return len(self._held)

    def flight(self, around: "Flight | None") -> "Flight":
        """The context in which a step runs; `around` is the step that it stands in, if any."""
        return Flight(self, around)

    def close(self, when_idle: Callable[[], None], *, patient: bool) -> None:
        """Hold whatever starts from now on; call back once nothing is in flight.

        `patient`: only once something is held, too, so that code outside of steps may go on.
        """
        self.closed = True
        self._when_idle = when_idle
        self._patient = patient
        self._look()

    def unwind(self) -> None:
        """Raise Unwound in every held branch, and in every one that comes."""
        self.closed = True
        self.unwinding = True
        for future in self._held:
            if not future.done():
                future.set_exception(Unwound())

    async def landing(self) -> None:
        """Let nothing start any more, and return once all that is in flight has landed."""
        self.closed = True
        while self._flying:
            landed = asyncio.get_running_loop().create_future()
            self._landings.append(landed)
            await landed

    def end(self) -> None:
        """The handler has ended: whatever it left behind finds the gate shut for good."""
        self.closed = self.ended = True
        self._when_idle = None
        for future in self._held:
            future.cancel()

    def check(self) -> None:
        """Raise RuntimeError once the handler has ended."""
        if self.ended:
            raise RuntimeError(
                "The handler of this task has ended, and with it its context; "
                "await whatever uses the context before the handler returns."
            )

    async def hold(self, around: "Flight | None") -> None:
        """Never return: end by Unwound or by cancellation."""
        self.check()
        if self.unwinding:
            raise Unwound
        if around is not None:
            around.block()
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._held.add(future)
        self._look()
        try:
            await future
        finally:
            self._held.discard(future)
            if around is not None and not self.unwinding:
                around.unblock()

    def took_off(self) -> None:
        """One more is in flight."""
        self._flying += 1

    def landed(self) -> None:
        """One less is in flight."""
        self._flying -= 1
        if not self._flying:
            for landing in self._landings:
                if not landing.done():
                    landing.set_result(None)
            self._landings.clear()
        self._look()

    def _look(self) -> None:
        if self._is_idle():
            asyncio.get_running_loop().call_soon(self._idle)

    def _idle(self) -> None:
        # Looked at again a moment later: a handler whose last step has just landed may return.
        if self._is_idle() and self._when_idle is not None:
            self._when_idle()

    def _is_idle(self) -> bool:
        return self.closed and not self._flying and (bool(self._held) or not self._patient)


class Flight(AbstractAsyncContextManager["Flight"]):
    """One step in flight; while a step inside it is held it counts as held itself."""

    __slots__ = ("_around", "_counted", "_gate", "_inside")

    def __init__(self, gate: Gate, around: "Flight | None") -> None:
        self._gate = gate
        self._around = around
        self._inside = False
        self._counted = False

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
        """Something inside is held: neither this nor what is around it moves any more."""
        self._land()
        if self._around is not None:
            self._around.block()

    def unblock(self) -> None:
        """What was held inside was given up: this moves again, and what is around it."""
        if self._inside and not self._counted:
            self._counted = True
            self._gate.took_off()
        if self._around is not None:
            self._around.unblock()

    def _land(self) -> None:
        if self._counted:
            self._counted = False
            self._gate.landed()
