"""What lets a handler's steps start, and holds them when the claim must end.

A park, drain or cancel never interrupts a step in flight: the gate is closed, what is in flight
runs to its checkpoint, what comes next is held. Once nothing flies, the handler is *unwound*: every
held branch gets an exception that no `except Exception` can eat.

A branch may also *wait*, for something that only happens outside. When every branch waits, nothing
can go on here, and the handler is unwound as well: its claim ends, and the task waits without a
worker. The gate knows a branch by what it does here. Where only the handler's own asyncio task has
ever used the context, its wait is everybody's. Where there are others, one of them may be doing
something of its own, outside of steps: it has GRACE to come back, counted anew whenever anything
moves here. A wait that ends before that goes on where it is.

All of it happens in the event loop of the handler; nothing here is shared between threads.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from stagepost.branches import Branches
from stagepost.errors import LeaseLost
from stagepost.waiting import MOST_BRANCHES, Condition

Answer = TypeVar("Answer")

GRACE: Final = 1.0
"""Seconds for code outside of steps, once every known branch of a handler with several waits."""


class Unwound(BaseException):  # like GeneratorExit, it is no error
    """Ends a handler whose claim ends; a handler has no business with it."""


class Around(Protocol):
    """A step in flight, in which a branch stands."""

    def block(self) -> None:
        """A branch inside stands still."""
        ...

    def unblock(self) -> None:
        """A branch inside goes on."""
        ...


class Waiter(Protocol):
    """A branch that waits. While there is a `brief` wait the handler stays."""

    @property
    def condition(self) -> Condition:
        """What it waits for."""
        ...

    @property
    def brief(self) -> bool:
        """Whether it is not worth a replay."""
        ...

    def unwind(self) -> None:
        """Raise Unwound in the branch."""
        ...

    def cancel(self) -> None:
        """The handler has ended without this branch."""
        ...


class Gate:
    """One claim's gate."""

    __slots__ = (
        "_branches", "_flying", "_handler", "_held", "_landings", "_patient", "_waits",
        "_when_idle", "closed", "ended", "parked", "unwinding", "when_all_wait",
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
        self._waits: dict[Waiter, None] = {}
        self._handler = 0
        self._branches: Branches | None = None  # most handlers never wait; theirs costs nothing
        self.when_all_wait: Callable[[], None] | None = None
        """Called once every branch waits; it has to unwind the handler."""
        self.parked: tuple[Condition, ...] = ()
        """What all branches of the handler waited for when it was unwound; else empty."""

    @property
    def flying(self) -> int:
        """How many steps are in flight and not waiting for a step inside them."""
        return self._flying

    @property
    def held(self) -> int:
        """How many branches of the handler are held."""
        return len(self._held)

    def is_handler(self, handler: "asyncio.Task[Any] | None" = None) -> None:
        """This asyncio task, or the one that runs now, is the handler's own or acts for it."""
        self._handler = id(handler or asyncio.current_task())

    def used(self) -> None:
        """The asyncio task that runs now uses the context: it is a branch of the handler."""
        if self._branches is None:
            self._branches = Branches()
        self._branches.used(self._handler)

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
        for wait in self._waits:
            wait.unwind()

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
        self._when_idle = self.when_all_wait = None
        if self._branches is not None:
            self._branches.end()
        for future in self._held:
            future.cancel()
        for wait in self._waits:
            wait.cancel()

    def check(self) -> None:
        """Raise RuntimeError once the handler has ended."""
        if self.ended:
            raise RuntimeError(
                "The handler of this task has ended, and with it its context; "
                "await whatever uses the context before the handler returns."
            )

    async def through(
        self, write: Callable[..., Awaitable[Answer]], *args: Any, **named: Any
    ) -> Answer:
        """Call the journal. A claim that is lost can write nothing more: it is unwound here."""
        self.check()
        try:
            return await write(*args, **named)
        except LeaseLost as error:
            self.check()
            self.unwind()
            raise Unwound from error

    async def hold(self, around: Around | None) -> None:
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
        self._moved()

    def landed(self) -> None:
        """One less is in flight."""
        self._flying -= 1
        self._moved()
        if not self._flying:
            for landing in self._landings:
                if not landing.done():
                    landing.set_result(None)
            self._landings.clear()
        self._look()

    def waits(self, wait: Waiter) -> None:
        """One more branch waits. Raises RuntimeError when too many do."""
        if len(self._waits) >= MOST_BRANCHES:
            raise RuntimeError(
                f"At most {MOST_BRANCHES} branches of a handler wait at the same time; "
                "wait in a ctx.map, whose concurrency bounds them."
            )
        self._waits[wait] = None
        self._moved()
        self._look()

    def waits_no_more(self, wait: Waiter) -> None:
        """One branch goes on."""
        self._waits.pop(wait, None)
        self._moved()
        self._look()

    def _moved(self) -> None:
        if self._branches is not None:
            self._branches.moved()

    def _look(self) -> None:
        if self._is_idle() or self._all_wait():
            asyncio.get_running_loop().call_soon(self._idle)

    def _idle(self) -> None:
        # Looked at again a moment later: a handler whose last step has just landed may return.
        if self._is_idle():
            self._stand_still(self._when_idle)
        elif self._all_wait():
            then = partial(self._stand_still, self.when_all_wait)
            if self._branches is None:
                then()
            else:
                self._branches.when_still(self._all_wait, then, GRACE)

    def _stand_still(self, then: Callable[[], None] | None) -> None:
        if not (self._held or self.unwinding):
            self.parked = tuple(wait.condition for wait in self._waits)
        if then is not None:
            then()

    def _all_wait(self) -> bool:
        if self.closed or self._flying or not self._waits:
            return False
        return not any(wait.brief for wait in self._waits)

    def _is_idle(self) -> bool:
        still = bool(self._held) or bool(self._waits) or not self._patient
        return self.closed and not self._flying and still
