"""What goes through NOTIFY: JSON in ASCII, whatever the database's encoding, in pieces that fit.

    {"from": SENDER, "events": [ID, ...]}
    {"from": SENDER, "cancels": [ID, ...]}
    {"from": SENDER, "said": [[ID, STEP, ATTEMPT, OFFSET, TEXT] or [ID], ...]}
    {"from": SENDER, "missed": [true]}
    {"from": SENDER, "hello": [true]}     the sender's own look at whether notifications pass

What is not understood is left out, so that processes of different versions can share a channel.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, Self

from stagepost.bus import Token
from stagepost.buses.postgres.outgoing import Batch

_ROOM: Final = 7_800
"""Bytes for the items of a payload; PostgreSQL takes 7,999, and the frame has its share."""

_IDS: Final = _ROOM // len('"01890a5d-ac96-774b-bcce-b302099a8057",')


class Heard(NamedTuple):
    """One payload, read."""

    sender: str
    events: tuple[str, ...]
    cancels: tuple[str, ...]
    said: tuple[tuple[str, Token | None], ...]
    missed: bool


class Channels(NamedTuple):
    """Where bells and text go; engines of one database keep apart by their schemas' names."""

    bells: str
    texts: str

    @classmethod
    def of(cls, schema: str) -> Self:
        """Those of a schema."""
        return cls(f"{schema}_bells", f"{schema}_texts")


def payloads(sender: str, batch: Batch, channels: Channels) -> Iterator[tuple[str, str]]:
    """Each payload, behind its channel."""
    bells, texts = channels
    if batch.missed:
        yield bells, _framed(sender, "missed", ["true"])
        yield texts, _framed(sender, "missed", ["true"])
    for chunk in _chunks(_pieces(batch.said)):
        yield texts, _framed(sender, "said", chunk)
    for word, ids in (("events", batch.events), ("cancels", batch.cancels)):
        for listed in _lists(ids):
            yield bells, _framed(sender, word, listed)


def hello(sender: str) -> str:
    """What a sender tells itself when it begins."""
    return _framed(sender, "hello", ["true"])


def is_from(payload: str, sender: str) -> bool:
    """Whether a payload is a sender's."""
    return payload.startswith(f'{{"from":"{sender}",')


def read(payload: str) -> Heard | None:
    """A payload as it is understood; None if it is not."""
    try:
        found: Any = json.loads(payload)
        return Heard(
            str(found["from"]),
            tuple(map(str, found.get("events", ()))),
            tuple(map(str, found.get("cancels", ()))),
            tuple(map(_said, found.get("said", ()))),
            "missed" in found,
        )
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None


def _framed(sender: str, word: str, items: Iterable[str]) -> str:
    return f'{{"from":"{sender}","{word}":[{",".join(items)}]}}'


def _lists(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    # All that fit are encoded at once: this is on every task's path.
    for first in range(0, len(ids), _IDS):
        some = ids[first : first + _IDS]
        text = json.dumps(some, separators=(",", ":"))[1:-1]
        if len(text) <= _ROOM:
            yield [text]
        else:
            yield from _chunks(map(json.dumps, some))


def _chunks(items: Iterable[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    size = 0
    for item in items:
        if size + len(item) + 1 > _ROOM and chunk:
            yield chunk
            chunk, size = [], 0
        if len(item) <= _ROOM:
            chunk.append(item)
            size += len(item) + 1
    if chunk:
        yield chunk


def _pieces(said: Iterable[tuple[str, Token | None]]) -> Iterator[str]:
    for task_id, token in said:
        if token is None:
            yield json.dumps([task_id])
        else:
            yield from _cut(task_id, token)


def _cut(task_id: str, token: Token) -> Iterator[str]:
    # Halves, and halves of halves, until each fits. A path that leaves no room for text stays here.
    waiting = [token] if len(json.dumps([task_id, token.step])) < _ROOM // 2 else []
    while waiting:
        piece = waiting.pop()
        item = json.dumps([task_id, *piece])
        if len(item) <= _ROOM:
            yield item
            continue
        middle = len(piece.text) // 2
        waiting.append(piece._replace(offset=piece.offset + middle, text=piece.text[middle:]))
        waiting.append(piece._replace(text=piece.text[:middle]))


def _said(item: Any) -> tuple[str, Token | None]:
    if len(item) == 1:
        return str(item[0]), None
    task_id, step, attempt, offset, text = item
    return str(task_id), Token(str(step), int(attempt), int(offset), str(text))
