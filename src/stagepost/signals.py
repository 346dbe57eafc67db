"""Signals, the waits that take them, and which wait takes which signal. Pure.

A signal is taken by one wait: the first that was sent of those that have the wait's name, came
before its end, and are from somebody whom it listens to. It may come before the wait begins.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, NamedTuple

import orjson

from stagepost.errors import Conflict, IdempotencyMismatch, NotAllowed
from stagepost.records import Scope
from stagepost.task import SETTLED, Task
from stagepost.waiting import SignalSent, milliseconds

MOST_SIGNALS: Final = 100
"""Signals of one task that nobody has taken yet."""

MOST_BYTES: Final = 64 * 1024
"""Bytes of a signal's JSON."""

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""What a signal can be called: a part of an address."""

ROLE_WORDS: Final = ("read", "submit", "operate", "admin")
"""As an approver each of these is the role, and not a user of that name."""


@dataclass(frozen=True, slots=True)
class Signal:
    """JSON text that was sent to a task. `roles` are all that its sender has."""

    id: str
    name: str
    body: str
    sender: str
    roles: tuple[str, ...] = ()
    sent_at: int = 0


class OpenWait(NamedTuple):
    """A wait that a handler has begun and not ended; a sleep has no `name`.

    `until` is when it ends without a signal. `approvers` are users and roles; None is everybody.
    """

    path: str
    name: str | None = None
    until: int | None = None
    approvers: tuple[str, ...] | None = None


class NewWait(NamedTuple):
    """A wait for a signal, as a handler begins it, or comes to it again.

    `name` and `input_hash` are those of the step that it becomes; `timeout` is in seconds.
    """

    path: str
    name: str
    input_hash: str
    signal: str
    timeout: float | None = None
    approvers: tuple[str, ...] | None = None

    def opened(self, now: int) -> OpenWait:
        """The wait, when it begins now."""
        until = None if self.timeout is None else now + milliseconds(self.timeout)
        return OpenWait(self.path, self.signal, until, self.approvers)


class Pending(NamedTuple):
    """A wait that goes on: until when, and for how many seconds; None: until a signal comes."""

    until: int | None
    left: float | None


def pending(until: int | None, now: int) -> Pending:
    """A wait that goes on."""
    return Pending(until, None if until is None else (until - now) / 1000)


def heard(wait: OpenWait, signals: Iterable[Signal]) -> Signal | None:
    """The signal that a wait takes, of those that are there in the order of their sending."""
    return next((signal for signal in signals if _takes(wait, signal)), None)


def end_of(wait: OpenWait, signals: Iterable[Signal], now: int) -> tuple[Signal | None, str] | None:
    """How a wait ends now, if it does: with which signal, and the text of the step that it becomes.

    A replay reads from that text what has happened: `[]` is that nothing came in time.
    """
    signal = heard(wait, signals)
    if signal is not None:
        return signal, f"[{signal.body},{orjson.dumps([signal.sender, signal.sent_at]).decode()}]"
    return (None, "[]") if wait.until is not None and wait.until <= now else None


def can_send(task: Task, scope: Scope, signal: Signal, waits: Iterable[OpenWait]) -> bool:
    """Whether a caller may send it to this task at all, of which others know nothing.

    Who sees only tasks of his own still may when the task waits for the signal from him by name.
    """
    named = any(
        wait.name == signal.name and signal.sender in (wait.approvers or ()) for wait in waits
    )
    return scope.holds(task) or (named and scope.tenant == task.tenant)


def digest_of(body: str) -> str:
    """What is kept of a signal's body once it is taken: by it the same content is known again."""
    return sha256(orjson.dumps(orjson.loads(body), option=orjson.OPT_SORT_KEYS)).hexdigest()


def check_same(signal: Signal, name: str, body: str, *, taken: bool) -> None:
    """Raise IdempotencyMismatch for a signal that is not the one that the task had by this id.

    `name` and `body` are those that are kept of that one. Nothing is known of a body that was taken
    before digests were kept: any is the same.
    """
    known = body if taken else digest_of(body)
    if signal.name != name or known not in {digest_of(signal.body), "null"}:
        raise IdempotencyMismatch(
            "Another signal was sent to the task with this Idempotency-Key; take a new key for it."
        )


def check_sent(
    task: Task, signal: Signal, waits: Iterable[OpenWait], untaken: Sequence[Signal]
) -> None:
    """Raise Conflict or NotAllowed for a signal that can't be sent to the task now."""
    if task.status in SETTLED:
        raise Conflict(f"The task is {task.status} and takes no signals any more.")
    listening = [wait for wait in waits if wait.name == signal.name]
    if listening and not any(listens_to(each, signal.sender, signal.roles) for each in listening):
        raise NotAllowed(f'The task waits for "{signal.name}" from somebody else.')
    if len(untaken) >= MOST_SIGNALS:
        raise Conflict(
            f"The task has {MOST_SIGNALS} signals that it has not taken yet; try again when it has."
        )


def wakes(task: Task, signal: Signal, waits: Iterable[OpenWait]) -> bool:
    """Whether a task that is WAITING waits for this signal."""
    paths = {each.path for each in task.conditions if isinstance(each, SignalSent)}
    return any(wait.path in paths and _takes(wait, signal) for wait in waits)


def listens_to(wait: OpenWait, sender: str, roles: Iterable[str]) -> bool:
    """Whether somebody with these roles may send what the wait waits for."""
    if wait.approvers is None:
        return True
    named = set(wait.approvers)
    words = named.intersection(ROLE_WORDS)
    return sender in named - words or not words.isdisjoint(roles)


def _takes(wait: OpenWait, signal: Signal) -> bool:
    in_time = wait.until is None or signal.sent_at < wait.until
    wanted = signal.name == wait.name and in_time
    return wanted and listens_to(wait, signal.sender, signal.roles)
