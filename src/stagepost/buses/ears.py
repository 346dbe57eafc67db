"""The listeners of one process, each called in its own event loop; shared by every bus."""

import asyncio
import logging
import threading
from collections.abc import Callable

from stagepost.bus import Committed, Listener, Token

_log = logging.getLogger("stagepost.bus")


class Ears:
    """Hands news to every listener, in order; may be called from any thread, and never raises."""

    def __init__(self) -> None:
        self._ears: tuple[_Ear, ...] = ()
        self._lock = threading.Lock()

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call the listener in this event loop from now on, until the answer is called."""
        ear = _Ear(asyncio.get_running_loop(), listener)
        with self._lock:
            self._ears = (*self._ears, ear)
        return lambda: self._stop(ear)

    def committed(self, news: Committed) -> None:
        """Pass a commit on."""
        for ear in self._ears:
            self._tell(ear, ear.listener.committed, news)

    def token(self, task_id: str, token: Token) -> None:
        """Pass a piece of text on."""
        for ear in self._ears:
            self._tell(ear, ear.listener.token, task_id, token)

    def missed(self) -> None:
        """Pass on that bells may have been lost."""
        for ear in self._ears:
            self._tell(ear, ear.listener.missed)

    def _stop(self, ear: "_Ear") -> None:
        ear.open = False
        with self._lock:
            self._ears = tuple(other for other in self._ears if other is not ear)

    def _tell(self, ear: "_Ear", callback: Callable[..., None], *arguments: object) -> None:
        try:
            ear.loop.call_soon_threadsafe(ear.hear, callback, arguments)
        except RuntimeError:
            # Its loop was closed without a stop: nobody hears there any more.
            _log.debug("a listener's event loop has closed")
            self._stop(ear)


class _Ear:
    """A listener and the event loop in which it is called."""

    def __init__(self, loop: asyncio.AbstractEventLoop, listener: Listener) -> None:
        self.loop = loop
        self.listener = listener
        self.open = True

    def hear(self, callback: Callable[..., None], arguments: tuple[object, ...]) -> None:
        if self.open:
            callback(*arguments)
