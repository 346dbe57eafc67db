"""What all claims of one worker share in asking models: the catalogue, providers, breakers.

A call that was sent goes on until its end is written, also when its handler has ended meanwhile: it
is paid for, and whoever runs the task next finds its answer.
"""

import asyncio
import logging
import random
from collections import defaultdict
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, TypeVar

from stagepost.clock import Clock
from stagepost.failure import FailureKind
from stagepost.llm import catalogue
from stagepost.llm.breaker import Breaker, State
from stagepost.llm.catalogue import Catalogue, Model
from stagepost.llm.course import Closed, Course
from stagepost.llm.lending import Lending
from stagepost.llm.provider import CallRefused, NotReady, Provider
from stagepost.llm.refusal import Refusal
from stagepost.llm.spans import Spans
from stagepost.llm.watching import Watchers

Result = TypeVar("Result")

_log = logging.getLogger("stagepost.llm")

MOST_FLYING: Final = 2_000
"""Calls of one worker that are being answered."""

_LANDING: Final = 10.0  # seconds that close() waits for what is in flight


class Asking:
    """Belongs to the handlers' event loop."""

    def __init__(
        self,
        models: Catalogue,
        provider_for: Callable[[catalogue.Provider], Provider],
        lending: Lending,
        clock: Clock,
    ) -> None:
        self.models = models
        self.lending = lending
        self.clock = clock
        self.watchers = Watchers()
        self.spans = Spans()
        self._provider_for = provider_for
        self._providers: dict[str, Provider] = {}
        self._making = asyncio.Lock()
        self._breakers: defaultdict[str, Breaker] = defaultdict(Breaker)
        self._flying: set[asyncio.Task[Any]] = set()

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

    def begins(self, model: Model) -> None:
        """A call to it is sent."""
        self._breakers[model.name].begin(self.clock.monotonic())

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

    async def in_flight(self, call: Coroutine[Any, Any, Result]) -> Result:
        """Run it to its end whatever becomes of who waits for it."""
        flying = asyncio.create_task(call)
        self._flying.add(flying)
        flying.add_done_callback(self._landed)
        return await asyncio.shield(flying)

    @property
    def is_full(self) -> bool:
        """Whether no further call can be sent now."""
        return len(self._flying) >= MOST_FLYING

    def states(self) -> Sequence[tuple[str, State]]:
        """Each breaker that was ever used, by the name of its model. From any thread."""
        now = self.clock.monotonic()
        return [(name, breaker.state(now)) for name, breaker in list(self._breakers.items())]

    async def close(self) -> None:
        """Let what is in flight land for a while, and let go of all connections.

        What has not landed by then is UNKNOWN.
        """
        if self._flying:
            await asyncio.wait(self._flying, timeout=_LANDING)
        for flying in self._flying:
            flying.cancel()
        await asyncio.gather(*self._flying, return_exceptions=True)
        for provider in self._providers.values():
            await provider.close()

    def _tell(self, model: Model, what: Callable[[Breaker], None]) -> None:
        breaker = self._breakers[model.name]
        before = breaker.why
        what(breaker)
        if breaker.why is not None and before is None:
            _log.warning("no call goes to %s for a while: %s", model.name, breaker.why)
        elif breaker.why is None and before is not None:
            _log.info("calls go to %s again", model.name)

    def _landed(self, flying: "asyncio.Task[Any]") -> None:
        self._flying.discard(flying)
        if not flying.cancelled() and (error := flying.exception()) is not None:
            # Told to whoever waits for it; where nobody does, this is all that tells it.
            _log.debug("a call has ended with %r", error)
