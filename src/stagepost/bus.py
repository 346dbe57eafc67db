"""PORT. Live doorbells between the parts of the engine, and a task's streaming text.

A doorbell says only *that* something happened: the data comes from the store. A bell may be lost
(then a sweep finds the news within seconds) but never holds anything up. Within a process bells
come one for one; on their way to another they may be merged, and where too many would have to be
kept, or a connection was lost, its listeners are told only that they have missed some.

Text that a handler emits has no row in the store; the bus keeps the newest `TOKENS_KEPT` bytes of
the open step of each task, so that a reader that connects in the middle reads from there. A piece
that does not go on where the kept text ends (another step, another try, the same one over again)
begins it anew. Each process keeps what it heard itself: a reader that is late and asks another
process than the one in which the handler runs gets the text from when that process began to listen.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

TOKENS_KEPT: Final = 256 * 1024
"""Bytes of the open step's text that a late reader still gets."""


class Token(NamedTuple):
    """A piece of a step's text; `offset` counts code points from the step's first."""

    step: str
    attempt: int
    offset: int
    text: str


class Committed(NamedTuple):
    """What one commit changed: a task id for each new event, and the tasks newly asked to stop.

    `counts` says how many facts of each (type, lane, kind) this process itself committed. It is for
    this process's own sums: a bus between processes leaves it out, so that nothing counts twice.
    """

    events: Sequence[str]
    cancels: Sequence[str] = ()
    counts: Mapping[tuple[str, str, str], int] = MappingProxyType({})


class Listener(Protocol):
    """Whoever wants to hear; called in the event loop in which `listen` was called."""

    def committed(self, news: Committed) -> None:
        """Tasks have new events. Bells of one commit come together, in commit order."""
        ...

    def token(self, task_id: str, token: Token) -> None:
        """A piece of text of a running step."""
        ...

    def missed(self) -> None:
        """Bells may have been lost: look at everything that you care about, once."""
        ...


class Bus(Protocol):
    """Rings and listens, in one process or across many."""

    def ring(self, news: Committed) -> None:
        """Announce a commit; called from any thread, returns at once, never raises."""
        ...

    def emit(self, task_id: str, token: Token) -> None:
        """Send a piece of text to whoever watches the task; from any thread, returns at once."""
        ...

    def forget(self, task_id: str) -> None:
        """Drop the text kept for a task; called when a step or claim ends."""
        ...

    def kept(self, task_id: str) -> Token | None:
        """The open step's text as far as it is kept, as one piece; None if there is none."""
        ...

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call the listener for what happens from now on.

        Returns the function that ends it; called in the listener's event loop, nothing comes after.
        """
        ...

    async def ping(self) -> None:
        """Return if other processes are heard and hear; raises Retryable if they do not now."""
        ...

    async def close(self) -> None:
        """Tell what still waits to be told, for two seconds at most, and let go."""
        ...
