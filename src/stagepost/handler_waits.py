"""How a branch of a handler waits: where it is for a moment, and else without a worker.

The store fixes when a wait ends, at its first call. The branch waits at the gate; if it may not go
on before every other branch waits as well, the claim ends, and a replay comes here again.
"""

from collections.abc import Sequence
from typing import Any, Final, TypeVar

import orjson

from stagepost.codec import digest
from stagepost.flight import BranchWait
from stagepost.gate import Gate
from stagepost.journal import Journal, NewStep
from stagepost.retry import seconds
from stagepost.scope import CURRENT
from stagepost.signals import NAME, NewWait, Pending
from stagepost.waiting import LimitFree, SignalSent, TimeComes

Answer = TypeVar("Answer")

BRIEF: Final = 5.0
"""Seconds; a shorter wait is not worth a replay, and holds its worker."""

_POLL: Final = 1.0
"""Seconds between two looks for a signal while other branches keep the handler here."""

_LONGEST: Final = 10 * 365 * 86_400.0  # seconds
_MOST_APPROVERS: Final = 100
_LONGEST_APPROVER: Final = 128


class HandlerWaits:
    """The waits of one claim's handler."""

    def __init__(self, journal: Journal, gate: Gate) -> None:
        self._journal = journal
        self._gate = gate

    async def sleep(self, duration: float | str, key: str | None) -> None:
        """Return when a sleep's end, fixed by its first call, has come."""
        length = _length(duration)
        with CURRENT.get().enter("sleep", key) as path:
            if await self._gate.through(self._journal.find, path) is not None:
                return
            pending = await self._gate.through(self._journal.sleep, path, length)
            await self._sleep(path, length, key or "sleep", pending)
            step = NewStep(path, "sleep", digest(("sleep",), {}), "null", round(length * 1000))
            await self._gate.through(self._journal.save, step)

    async def _sleep(self, path: str, length: float, name: str, pending: Pending) -> None:
        left = pending.left or 0.0
        if left <= 0:
            return
        condition = TimeComes(name, pending.until or 0)
        flight = CURRENT.get().flight
        async with BranchWait(self._gate, condition, flight, brief=left <= BRIEF) as wait:
            while left > 0:
                await wait.rest(left)
                left = (await self._gate.through(self._journal.sleep, path, length)).left or 0.0

    async def wait_for(
        self,
        name: str,
        timeout: float | str | None,
        approvers: Sequence[str] | None,
        key: str | None,
    ) -> Any:
        """The JSON of a signal. Raises TimeoutError once the wait's own time is over."""
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ValueError(
                "A signal's name has 1 to 64 letters, digits, dots, dashes and underscores."
            )
        length = None if timeout is None else _length(timeout)
        step = f"wait_for {name}"
        with CURRENT.get().enter(step, key) as path:
            found = await self._gate.through(self._journal.find, path)
            wanted = NewWait(path, step, digest((step,), {}), name, length, _checked(approvers))
            text = found.text if found is not None else await self._listen(wanted)
        return _told(text, name)

    async def _listen(self, wanted: NewWait) -> str:
        answer = await self._gate.through(self._journal.listen, wanted)
        if isinstance(answer, str):
            return answer
        condition = SignalSent(wanted.signal, wanted.path, answer.until)
        async with BranchWait(self._gate, condition, CURRENT.get().flight) as wait:
            while not isinstance(answer, str):
                left = _POLL if answer.left is None else min(_POLL, max(answer.left, 0.001))
                await wait.rest(left)
                answer = await self._gate.through(self._journal.listen, wanted)
        return answer

    async def limit(self, name: str, delay: float) -> None:
        """Wait until somebody else's limit may be free again; nothing of it is kept."""
        condition = LimitFree(name[:200], delay)
        async with BranchWait(self._gate, condition, CURRENT.get().flight) as wait:
            await wait.rest(delay)


def _length(duration: float | str) -> float:
    length = seconds(duration)
    if length > _LONGEST:
        raise ValueError("A wait lasts at most ten years.")
    return length


def _checked(approvers: Sequence[str] | None) -> tuple[str, ...] | None:
    if approvers is None:
        return None
    names = (approvers,) if isinstance(approvers, str) else tuple(approvers)
    if not 1 <= len(names) <= _MOST_APPROVERS or not all(
        isinstance(name, str) and 1 <= len(name) <= _LONGEST_APPROVER and name.isprintable()
        for name in names
    ):
        raise ValueError(
            f"approvers are 1 to {_MOST_APPROVERS} users or roles, each of at most "
            f"{_LONGEST_APPROVER} printable characters."
        )
    return names


def _told(text: str, name: str) -> Any:
    saved = orjson.loads(text)
    if not saved:
        raise TimeoutError(f'No signal "{name}" came in time.')
    return saved[0]
