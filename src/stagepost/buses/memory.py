"""The bus within one process."""

import asyncio
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

from stagepost.bus import TOKENS_KEPT, Committed, Listener, Token

_log = logging.getLogger("stagepost.bus")


@dataclass(frozen=True, slots=True, eq=False)
class _Ear:
    loop: asyncio.AbstractEventLoop
    listener: Listener


class MemoryBus:
    """Hands bells and tokens to listeners, each in its own event loop."""

    def __init__(self) -> None:
        self._ears: tuple[_Ear, ...] = ()
        self._kept: dict[str, Token] = {}
        self._lock = threading.Lock()

    def ring(self, news: Committed) -> None:
        """Announce a commit."""
        for ear in self._ears:
            self._call(ear, ear.listener.committed, news)

    def emit(self, task_id: str, token: Token) -> None:
        """Send a piece of text."""
        with self._lock:
            self._kept[task_id] = _joined(self._kept.get(task_id), token)
        for ear in self._ears:
            self._call(ear, ear.listener.token, task_id, token)

    def forget(self, task_id: str) -> None:
        """Drop the text kept for a task."""
        with self._lock:
            self._kept.pop(task_id, None)

    def kept(self, task_id: str) -> Token | None:
        """The open step's text as far as it is kept."""
        with self._lock:
            return self._kept.get(task_id)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call the listener in this event loop from now on."""
        ear = _Ear(asyncio.get_running_loop(), listener)
        with self._lock:
            self._ears = (*self._ears, ear)

        def stop() -> None:
            with self._lock:
                self._ears = tuple(other for other in self._ears if other is not ear)

        return stop

    @staticmethod
    def _call(ear: _Ear, callback: Callable[..., None], *arguments: object) -> None:
        try:
            ear.loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            # Its loop was closed without `stop`: nobody hears there any more.
            _log.debug("a bell rang for an event loop that has closed")


def _joined(kept: Token | None, token: Token) -> Token:
    """The open step's text with one more piece, cut at its front to what is kept."""
    if kept is None or (kept.step, kept.attempt) != (token.step, token.attempt):
        return _newest(token)
    return _newest(kept._replace(text=kept.text + token.text))


def _newest(token: Token) -> Token:
    # A code point takes up to four bytes; counting code points as four each keeps it cheap.
    surplus = len(token.text) - TOKENS_KEPT // 4
    if surplus <= 0:
        return token
    return token._replace(offset=token.offset + surplus, text=token.text[surplus:])
