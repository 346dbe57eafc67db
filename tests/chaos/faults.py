"""Ports wrapped so that a call of a verb kills, stops or breaks; the engine knows nothing of it."""

import asyncio
import inspect
import os
import signal
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stagepost.calls import Answered
from stagepost.errors import StoreUnavailable
from stagepost.records import Beat, NewTask, SavedStep, Scope, Submitted
from stagepost.task import Lease, Status


@dataclass(frozen=True)
class Fault:
    """What happens `when` ("before" or "after") the n-th call of a verb: kill, stop, delay, break.

    `delay` is in seconds.
    """

    verb: str
    when: str
    n: int = 1
    act: str = "kill"
    delay: float = 0.0

    async def strike(self) -> None:
        match self.act:
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "stop":
                os.kill(os.getpid(), signal.SIGSTOP)
            case "delay":
                await asyncio.sleep(self.delay)
            case "break":
                raise StoreUnavailable("broken on purpose")


class Faulty:
    """Stands before a port. It is asked for one verb at a time, so it counts each."""

    def __init__(self, port: Any, faults: tuple[Fault, ...]) -> None:
        self._port = port
        self._faults = faults
        self._calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._port, name)
        if name in {"waits", "schedules", "calls"}:
            # A family of verbs of its own, which is counted here as well.
            family = Faulty(value, self._faults)
            setattr(self, name, family)
            return family
        if not inspect.iscoroutinefunction(value):
            return value

        async def verb(*args: Any, **kwargs: Any) -> Any:
            self._calls[name] += 1
            number = self._calls[name]
            await self._strike(name, number, "before")
            answer = await value(*args, **kwargs)
            await self._strike(name, number, "after")
            return answer

        return verb

    async def _strike(self, verb: str, number: int, when: str) -> None:
        for fault in self._faults:
            if (fault.verb, fault.n, fault.when) == (verb, number, when):
                await fault.strike()


class EarlyAnswer:
    """Breaks guarantee 1: says that a task is accepted before it is committed."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self._late: set[asyncio.Task[Any]] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def submit(self, new: NewTask) -> Submitted:
        async def later() -> None:
            await asyncio.sleep(0.1)
            await self._store.submit(new)

        late = asyncio.create_task(later())
        self._late.add(late)
        late.add_done_callback(self._late.discard)
        return Submitted(new.id, Status.QUEUED, 0)


class Deaf:
    """Loses the heartbeats of the first worker for a while, which thinks that they were taken.

    Its lease runs out, and nothing but the fence stands between it and the tasks of others.
    """

    def __init__(self, store: Any, seconds: float) -> None:
        self._store = store
        self._until = time.monotonic() + seconds
        self._first = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def beat(self, worker_id: str, state: str) -> Beat:
        self._first = self._first or worker_id
        if worker_id == self._first and time.monotonic() < self._until:
            return Beat(known=True)
        beat: Beat = await self._store.beat(worker_id, state)
        return beat


class Forgetful:
    """Breaks guarantee 3: what an earlier claim has saved is not there."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def steps(self, task_id: str) -> Sequence[SavedStep]:
        return ()


class NoFence:
    """Breaks guarantees 2 and 3: a late writer writes under whatever lease is the current one."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._store, name)
        if name not in {"checkpoint", "progress", "attach", "settle"}:
            return verb

        async def unfenced(lease: Lease, *args: Any) -> Any:
            task = (await self._store.get(lease.task_id, Scope(None))).task
            return await verb(task.lease or lease, *args)

        return unfenced


class ForgetfulCalls:
    """Breaks guarantee 5: no answer that was paid for is found again."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.calls = _Amnesia(store.calls)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class _Amnesia:
    def __init__(self, calls: Any) -> None:
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        return getattr(self._calls, name)

    async def memos(self, *_: Any) -> Sequence[Answered]:
        return ()

    async def memo(self, *_: Any) -> Answered | None:
        return None


class EarlyEnd:
    """Breaks guarantee 5: an answer is used before it is in the ledger."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.calls = _Hasty(store.calls)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class _Hasty:
    def __init__(self, calls: Any) -> None:
        self._calls = calls
        self._late: set[asyncio.Task[Any]] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._calls, name)

    async def end(self, *args: Any) -> None:
        async def later() -> None:
            await asyncio.sleep(0.5)
            await self._calls.end(*args)

        late = asyncio.create_task(later())
        self._late.add(late)
        late.add_done_callback(self._late.discard)
