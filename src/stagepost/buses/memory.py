"""The bus within one process."""

from collections.abc import Callable

from stagepost.bus import Committed, Listener, Token
from stagepost.buses.ears import Ears
from stagepost.buses.texts import Texts


class MemoryBus:
    """Hands bells and tokens to listeners, each in its own event loop."""

    def __init__(self) -> None:
        self._ears = Ears()
        self._texts = Texts()

    def ring(self, news: Committed) -> None:
        """Announce a commit."""
        self._ears.committed(news)

    def emit(self, task_id: str, token: Token) -> None:
        """Send a piece of text."""
        self._texts.keep(task_id, token)
        self._ears.token(task_id, token)

    def forget(self, task_id: str) -> None:
        """Drop the text kept for a task."""
        self._texts.drop(task_id)

    def kept(self, task_id: str) -> Token | None:
        """The open step's text as far as it is kept."""
        return self._texts.kept(task_id)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call the listener in this event loop from now on."""
        return self._ears.listen(listener)

    async def ping(self) -> None:
        """There are no other processes."""

    async def close(self) -> None:
        """Nothing waits to be told."""
