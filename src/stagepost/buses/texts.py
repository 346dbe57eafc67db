"""The newest text of each task's open step, within bounds; shared by every bus."""

import threading
from collections import OrderedDict
from typing import Final

from stagepost.bus import TOKENS_KEPT, Token

_KEPT_IN_ALL: Final = 64 * 1024 * 1024
"""Bytes of text for all tasks; beyond, the task that has been silent longest loses its own."""

_PIECES: Final = 1_000  # of one text before they are joined


class Texts:
    """Keeps at most `TOKENS_KEPT` bytes a task; may be used from any thread."""

    def __init__(self) -> None:
        self._texts: OrderedDict[str, _Text] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def keep(self, task_id: str, token: Token) -> None:
        """Add a piece; one that does not go on where the text ends begins it anew."""
        with self._lock:
            self._keep(task_id, token)

    def drop(self, task_id: str) -> bool:
        """Forget a task's text; whether there was one."""
        with self._lock:
            return self._drop(task_id)

    def clear(self) -> None:
        """Forget every text."""
        with self._lock:
            self._texts.clear()
            self._bytes = 0

    def kept(self, task_id: str) -> Token | None:
        """A task's text as one piece; None if there is none."""
        with self._lock:
            text = self._texts.get(task_id)
            return None if text is None else text.joined()

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

    def _drop(self, task_id: str) -> bool:
        text = self._texts.pop(task_id, None)
        self._bytes -= 0 if text is None else text.size
        return text is not None


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
