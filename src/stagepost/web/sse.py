"""Server-Sent Events as bytes, and where a stream begins."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from stagepost.bus import Token
from stagepost.event import Event
from stagepost.records import TaskView
from stagepost.store import Store
from stagepost.task import SETTLED

PAGE: Final = 200
"""Events that are read from the store at once."""

RETRY: Final = b"retry: 2000\n"
"""Goes before the first event: a browser waits so many milliseconds before it comes back."""
COMMENT: Final = b": still here\n\n"

_DIGITS: Final = 18  # of a number that fits into 63 bits


def event_bytes(name: str, data: Mapping[str, Any], number: int | None = None) -> bytes:
    """One event. JSON as orjson writes it has no line breaks."""
    head = b"" if number is None else b"id: %d\n" % number
    return head + b"event: %b\ndata: %b\n\n" % (name.encode(), orjson.dumps(data))


class Opening(NamedTuple):
    """Where a stream begins: behind `seq`, with the page of events that follows if it was read.

    `status_id` is the id of the snapshot, None for a reader that goes on.
    """

    seq: int
    status_id: int | None
    reset: bool = False
    events: Sequence[Event] = ()


async def opening(store: Store, view: TaskView, after: str | None) -> Opening | None:
    """How to begin for a reader whose last id was `after`; None for a new one.

    Answers None when the reader has had all that will ever come: the end event of a task that is
    over.
    """
    last, over = view.task.seq, view.task.status in SETTLED
    # Of a task that is over the end event follows the snapshot, so the snapshot stands before it.
    start = last - 1 if over else last
    if after is None:
        return Opening(start, start)
    known = int(after) if _is_number(after) else last + 1
    if known == last:
        return None if over else Opening(last, None)
    events = await store.events(view.task.id, known, PAGE) if known < last else ()
    if not events or events[0].seq != known + 1:
        # An id that was never given, or behind which events have been pruned.
        return Opening(start, start, reset=True)
    return Opening(known, None, events=events)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS


class OpenText:
    """Which part of the open step's text a reader has had.

    What the bus has kept and the pieces that come live overlap; a code point goes out once.
    """

    __slots__ = ("_attempt", "_next", "_step")

    def __init__(self) -> None:
        self._step = ""
        self._attempt = 0
        self._next = 0

    def unseen(self, token: Token) -> Token | None:
        """The part of a piece that the reader has not had."""
        if (token.step, token.attempt) != (self._step, self._attempt):
            self._step, self._attempt, self._next = token.step, token.attempt, 0
        seen = max(0, self._next - token.offset)
        self._next = max(self._next, token.offset + len(token.text))
        if seen >= len(token.text):
            return None
        return token._replace(offset=token.offset + seen, text=token.text[seen:])
