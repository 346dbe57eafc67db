"""Signals, the waits that take them, and which wait takes which signal. Pure.

A signal is taken by one wait: the first that was sent of those that have the wait's name, came
before its end, and are from somebody whom it listens to. It may come before the wait begins.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

MOST_SIGNALS: Final = 100
"""Signals of one task that nobody has taken yet."""

MOST_BYTES: Final = 64 * 1024
"""Bytes of a signal's JSON."""

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


def listens_to(wait: OpenWait, sender: str, roles: Iterable[str]) -> bool:
    """Whether somebody with these roles may send what the wait waits for."""
    if wait.approvers is None:
        return True
    named = set(wait.approvers)
    words = named.intersection(ROLE_WORDS)
    return sender in named - words or not words.isdisjoint(roles)


def heard(wait: OpenWait, signals: Iterable[Signal]) -> Signal | None:
    """The signal that a wait takes, of those that are there in the order of their sending."""
    return next((signal for signal in signals if _takes(wait, signal)), None)


def _takes(wait: OpenWait, signal: Signal) -> bool:
    in_time = wait.until is None or signal.sent_at < wait.until
    wanted = signal.name == wait.name and in_time
    return wanted and listens_to(wait, signal.sender, signal.roles)
