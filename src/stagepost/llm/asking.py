"""What all claims of one worker share in asking models: the catalogue, providers, breakers.

A call that was sent goes on until its end is written, also when its handler has ended meanwhile: it
is paid for, and whoever runs the task next finds its answer.
"""

import asyncio
import logging
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple, TypeVar

from stagepost.calls import CallKey
from stagepost.clock import Clock
from stagepost.failure import FailureKind
from stagepost.llm import catalogue
from stagepost.llm.breaker import Breaker, State
from stagepost.llm.budgeting import Budgeting
from stagepost.llm.catalogue import Catalogue, Model
from stagepost.llm.course import Closed, Course
from stagepost.llm.lending import Lending
from stagepost.llm.provider import CallRefused, NotReady, Provider
from stagepost.llm.refusal import Refusal
from stagepost.llm.spans import Spans
from stagepost.llm.watching import Watchers

Result = TypeVar("Result")

_log = logging.getLogger("stagepost.llm")

MOST_FLYING: Final = 1_000
"""Calls of one worker that are in flight, as many as one provider's connections; more wait."""

_LANDING: Final = 10.0  # seconds that close() waits for what is in flight


class OpenBreaker(NamedTuple):
    """A model to which no call goes, since when, in milliseconds, and because of what."""

    model: str
    since: int
    why: FailureKind


class Flying(NamedTuple):
    """Whose call is in flight, by its claim's lease, and which: its task and its key there."""

    lease_id: str
    call: tuple[str, CallKey]


class Asking:
    """Belongs to the handlers' event loop. Without `budgeting` nobody has a budget."""

    def __init__(
        self,
        models: Catalogue,
        provider_for: Callable[[catalogue.Provider], Provider],
        lending: Lending,
        clock: Clock,
        budgeting: Budgeting | None = None,
    ) -> None:
        self.models = models
        self.budgeting = budgeting
        self.lending = lending
        self.clock = clock
        self.watchers = Watchers()
        self.spans = Spans()
        self._provider_for = provider_for
        self._providers: dict[str, Provider] = {}
        self._making = asyncio.Lock()
        self._breakers: defaultdict[str, Breaker] = defaultdict(Breaker)
        self._opened: dict[str, int] = {}  # by model, when its breaker did
        self._seats = asyncio.Semaphore(MOST_FLYING)
        self._flying: dict[asyncio.Task[Any], Flying] = {}

    def course(self, name: str) -> Course:
        """The course of a new call to an alias or a model. Raises UnknownModel."""
        return Course(self.models.chain(name), self.closed)

    async def provider(self, model: Model) -> Provider:
        """Who serves it; made when it is first asked. Raises CallRefused where it can't be."""
        name = model.name.partition("/")[0]
        async with self._making:
            if name not in self._providers:
                try:
                    # In a thread: it imports an SDK, which takes a second or two.
                    made = await asyncio.to_thread(self._provider_for, model.provider)
                except NotReady as error:
                    raise CallRefused(Refusal(FailureKind.CONFIG, str(error))) from error
                self._providers[name] = made
        return self._providers[name]

    def closed(self, model: Model) -> Closed | None:
        """For how long and why its breaker lets no call through."""
        breaker = self._breakers[model.name]
        seconds = breaker.wait(self.clock.monotonic())
        return Closed(seconds, breaker.why) if seconds and breaker.why is not None else None

    @asynccontextmanager
    async def turn(self, model: Model) -> AsyncIterator["Turn"]:
        """A call's turn, begun in the same moment in which its course has found the way open."""
        breaker = self._breakers[model.name]
        probes = breaker.begin(self.clock.monotonic())
        turn = Turn(self._seats, self._fly)
        try:
            yield turn
        finally:
            turn.leave()
            if probes:
                turn.afterwards(breaker.give_up)

    def answered(self, model: Model) -> None:
        """It has answered."""
        self._tell(model, Breaker.succeeded)

    def refused(self, model: Model, error: CallRefused) -> None:
        """It has not."""
        refusal, now = error.refusal, self.clock.monotonic()
        self._tell(model, lambda it: it.failed(refusal.kind, now, refusal.retry_after))

    def spread(self) -> float:
        """A random number in [0, 1), by which waits are spread."""
        return random.random()  # noqa: S311  # only spreads

    async def landing(self, call: tuple[str, CallKey]) -> None:
        """Return once this call of this task is not in flight any more, whoever has sent it."""
        await self._landing([one for one, name in self._flying.items() if name.call == call])

    async def landing_of(self, lease_id: str) -> None:
        """Return once none of a claim's calls is in flight any more."""
        found = [one for one, name in self._flying.items() if name.lease_id == lease_id]
        await self._landing(found)

    async def _landing(self, flying: "list[asyncio.Task[Any]]") -> None:
        # Each ends by its own time-out, and its end is in the ledger then.
        if flying:
            await asyncio.wait(flying)

    def _fly(self, call: Coroutine[Any, Any, Result], name: Flying) -> "asyncio.Task[Result]":
        flying = asyncio.create_task(call)
        self._flying[flying] = name
        flying.add_done_callback(self._landed)
        return flying

    def states(self) -> Sequence[tuple[str, State]]:
        """Each breaker that was ever used, by the name of its model. From any thread."""
        now = self.clock.monotonic()
        return [(name, breaker.state(now)) for name, breaker in list(self._breakers.items())]

    def opened(self) -> Sequence[OpenBreaker]:
        """Each breaker that is not closed. From any thread."""
        found = []
        for name, since in list(self._opened.items()):
            why = self._breakers[name].why
            if why is not None:
                found.append(OpenBreaker(name, since, why))
        return found

    async def close(self) -> None:
        """Let what is in flight land for a while, and let go of all connections.

        What has not landed by then is UNKNOWN.
        """
        if self._flying:
            await asyncio.wait(tuple(self._flying), timeout=_LANDING)
        left = tuple(self._flying)
        for flying in left:
            flying.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        for provider in self._providers.values():
            await provider.close()

    def _tell(self, model: Model, what: Callable[[Breaker], None]) -> None:
        breaker = self._breakers[model.name]
        before = breaker.why
        what(breaker)
        if breaker.why is not None and before is None:
            self._opened[model.name] = self.clock.now()
            _log.warning("no call goes to %s for a while: %s", model.name, breaker.why)
        elif breaker.why is None and before is not None:
            self._opened.pop(model.name, None)
            _log.info("calls go to %s again", model.name)

    def _landed(self, flying: "asyncio.Task[Any]") -> None:
        del self._flying[flying]
        self._seats.release()
        if not flying.cancelled() and (error := flying.exception()) is not None:
            # Told to whoever waits for it; where nobody does, this is all that tells it.
            _log.debug("a call has ended with %r", error)


class Turn:
    """One call's turn: it takes a seat among those in flight, and flies.

    What was seated and has not flown leaves the seat to others.
    """

    def __init__(
        self,
        seats: asyncio.Semaphore,
        fly: "Callable[[Coroutine[Any, Any, Any], Flying], asyncio.Task[Any]]",
    ) -> None:
        self._seats = seats
        self._fly = fly
        self._seated = False
        self._flight: asyncio.Task[Any] | None = None

    async def seat(self, patience: float) -> bool:
        """Whether there is room within so many seconds."""
        if self._seats.locked():
            try:
                async with asyncio.timeout(patience):
                    await self._seats.acquire()
            except TimeoutError:
                return False
        else:
            await self._seats.acquire()
        self._seated = True
        return True

    async def fly(self, call: Coroutine[Any, Any, Result], name: Flying) -> Result:
        """Run it to its end whatever becomes of who waits for it."""
        self._flight = self._fly(call, name)
        return await asyncio.shield(self._flight)

    def leave(self) -> None:
        """Its seat is free, unless it flies: then it is once that has ended."""
        if self._seated and self._flight is None:
            self._seats.release()

    def afterwards(self, then: Callable[[], None]) -> None:
        """Call this once it has ended, or at once if it does not fly."""
        if self._flight is None:
            then()
        else:
            self._flight.add_done_callback(lambda _: then())
