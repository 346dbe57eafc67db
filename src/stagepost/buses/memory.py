"""The bus within one process."""

import asyncio
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from stagepost.bus import TOKENS_KEPT, Committed, Listener, Token

_log = logging.getLogger("stagepost.bus")

_KEPT_IN_ALL: Final = 64 * 1024 * 1024
"""Bytes of text for all tasks; beyond, the task that has been silent longest loses its own."""

_PIECES: Final = 1_000  # of one text before they are joined


class MemoryBus:
    """Hands bells and tokens to listeners, each in its own event loop."""

    def __init__(self) -> None:
        self._ears: tuple[_Ear, ...] = ()
        self._texts: OrderedDict[str, _Text] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def ring(self, news: Committed) -> None:
        """Announce a commit."""
        for ear in self._ears:
            self._tell(ear, ear.listener.committed, news)

    def emit(self, task_id: str, token: Token) -> None:
        """Send a piece of text."""
        with self._lock:
            self._keep(task_id, token)
        for ear in self._ears:
            self._tell(ear, ear.listener.token, task_id, token)

    def forget(self, task_id: str) -> None:
        """Drop the text kept for a task."""
        with self._lock:
            self._drop(task_id)

    def kept(self, task_id: str) -> Token | None:
        """The open step's text as far as it is kept."""
        with self._lock:
            text = self._texts.get(task_id)
            return None if text is None else text.joined()

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call the listener in this event loop from now on."""
        ear = _Ear(asyncio.get_running_loop(), listener)
        with self._lock:
            self._ears = (*self._ears, ear)
        return lambda: self._stop(ear)

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

    def _keep(self, task_id: str, token: Token) -> None:
        text = self._texts.get(task_id)
        before = 0 if text is None else text.size
        if text is None or not text.goes_on_with(token):
            text = self._texts[task_id] = _Text(token)
        else:
            text.add(token.text)
        self._texts.move_to_end(task_id)
        self._bytes += text.size - before
        while self._bytes > _KEPT_IN_ALL and len(self._texts) > 1:
            self._drop(next(iter(self._texts)))

    def _drop(self, task_id: str) -> None:
        text = self._texts.pop(task_id, None)
        self._bytes -= 0 if text is None else text.size


class _Ear:
    """A listener and the event loop in which it is called."""

    def __init__(self, loop: asyncio.AbstractEventLoop, listener: Listener) -> None:
        self.loop = loop
        self.listener = listener
        self.open = True

    def hear(self, callback: Callable[..., None], arguments: tuple[object, ...]) -> None:
        if self.open:
            callback(*arguments)


class _Text:
    """The newest text of one step. It is cut only now and then, so that adding stays cheap."""

    def __init__(self, token: Token) -> None:
        self._first = token._replace(text="")
        self._pieces: list[str] = []
        self._end = token.offset
        self.size = 0
        self.add(token.text)

    def goes_on_with(self, token: Token) -> bool:
        """Whether a token is of the same step and try, and starts where this text ends."""
        first = self._first
        return (first.step, first.attempt, self._end) == (token.step, token.attempt, token.offset)

    def add(self, text: str) -> None:
        """Put a piece behind the text."""
        self._pieces.append(text)
        self._end += len(text)
        self.size += _bytes_of(text)
        if self.size > 2 * TOKENS_KEPT or len(self._pieces) > _PIECES:
            left = self.joined()
            self._first, self._pieces = left._replace(text=""), [left.text]
            self.size = _bytes_of(left.text)

    def joined(self) -> Token:
        """As one piece, cut at its front to what is kept."""
        text = "".join(self._pieces)
        if self.size > TOKENS_KEPT:
            # A character that the cut goes through is left out.
            text = _encoded(text)[-TOKENS_KEPT:].decode("utf-8", "ignore")
        return self._first._replace(offset=self._end - len(text), text=text)


def _bytes_of(text: str) -> int:
    return len(text) if text.isascii() else len(_encoded(text))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")
