"""What waits to be told to the other processes: merged, bounded, from any thread.

Beyond its bounds everything is given up but one word, that the others have missed something: they
look for themselves, so a flood or a lost connection costs no memory here and a look there.
"""

import threading
from typing import Final, NamedTuple

from stagepost.bus import Committed, Token

_MOST_IDS: Final = 20_000
_MOST_TEXT: Final = 1024 * 1024  # characters
_MOST_PIECES: Final = 10_000


class Batch(NamedTuple):
    """What one NOTIFY tells. `said` is text in its order; None: the task's text is forgotten.

    `missed`: there was more, and it is lost.
    """

    events: tuple[str, ...] = ()
    cancels: tuple[str, ...] = ()
    said: tuple[tuple[str, Token | None], ...] = ()
    missed: bool = False


class Outgoing:
    """Gathers until it is taken. Each verb answers whether something waits that did not before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begin()

    def bell(self, news: Committed) -> bool:
        """A commit; an id that waits already is not added again."""
        with self._lock:
            before = self._waits
            if not self._missed:
                self._events.update(dict.fromkeys(news.events))
                self._cancels.update(dict.fromkeys(news.cancels))
                if len(self._events) + len(self._cancels) > _MOST_IDS:
                    self._give_up()
            return self._waits and not before

    def text(self, task_id: str, token: Token) -> bool:
        """A piece of text; what goes on where the task's last one ends is joined to it."""
        with self._lock:
            before = self._waits
            if not self._missed:
                self._say(task_id, token)
            return self._waits and not before

    def forget(self, task_id: str) -> bool:
        """A task's text has ended."""
        with self._lock:
            before = self._waits
            if not self._missed:
                self._said.append(_Piece(task_id, None))
                self._last.pop(task_id, None)
                self._bound()
            return self._waits and not before

    def lose(self) -> bool:
        """Others have missed something, such as what was taken and could not be told."""
        with self._lock:
            before = self._waits
            self._give_up()
            return not before

    def take(self) -> Batch:
        """All that waits."""
        with self._lock:
            said = tuple((piece.task_id, piece.joined()) for piece in self._said)
            batch = Batch(tuple(self._events), tuple(self._cancels), said, self._missed)
            self._begin()
            return batch

    @property
    def empty(self) -> bool:
        """Whether nothing waits."""
        return not self._waits

    @property
    def _waits(self) -> bool:
        return bool(self._missed or self._events or self._cancels or self._said)

    def _begin(self) -> None:
        self._events: dict[str, None] = {}
        self._cancels: dict[str, None] = {}
        self._said: list[_Piece] = []
        self._last: dict[str, _Piece] = {}
        self._characters = 0
        self._missed = False

    def _give_up(self) -> None:
        self._begin()
        self._missed = True

    def _say(self, task_id: str, token: Token) -> None:
        last = self._last.get(task_id)
        if last is None or not last.goes_on_with(token):
            last = self._last[task_id] = _Piece(task_id, token)
            self._said.append(last)
        last.add(token.text)
        self._characters += len(token.text)
        self._bound()

    def _bound(self) -> None:
        if self._characters > _MOST_TEXT or len(self._said) > _MOST_PIECES:
            self._give_up()


class _Piece:
    """Text of one task that goes out as one, or that it is forgotten."""

    __slots__ = ("_end", "_first", "_texts", "task_id")

    def __init__(self, task_id: str, first: Token | None) -> None:
        self.task_id = task_id
        self._first = first
        self._end = 0 if first is None else first.offset
        self._texts: list[str] = []

    def goes_on_with(self, token: Token) -> bool:
        first = self._first
        return first is not None and (first.step, first.attempt, self._end) == (
            token.step,
            token.attempt,
            token.offset,
        )

    def add(self, text: str) -> None:
        self._texts.append(text)
        self._end += len(text)

    def joined(self) -> Token | None:
        return None if self._first is None else self._first._replace(text="".join(self._texts))
