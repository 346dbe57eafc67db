"""Outside of the engine: starts it, asks it, kills it, and writes down what it was told."""

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos.plan import Plan
from chaos.power import lose

LONG = 90.0
"""Seconds after which a scenario gives up."""


def _import_path() -> list[str]:
    # The sources under test are those of this process.
    return [str(Path(__file__).parents[1]), *filter(None, sys.path)]


@dataclass
class ClientLog:
    """What a client knows. A key that was asked and not answered has an unknown outcome."""

    asked: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    accepted: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    seen: dict[str, list[int]] = field(default_factory=dict)
    """By task id: the numbers of the events that a reader saw who resumed at the last one."""

    def unknown(self) -> list[str]:
        return [key for key in self.asked if key not in self.accepted]


class Life:
    """One process, from its start to its end."""

    def __init__(self, process: asyncio.subprocess.Process, log: ClientLog) -> None:
        self._process = process
        self._log = log
        self._open: list[int] = []
        self.ready = asyncio.Event()
        self.over = asyncio.Event()
        self.redriven = asyncio.Event()

    @property
    def pid(self) -> int:
        return self._process.pid

    async def read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            with contextlib.suppress(json.JSONDecodeError):  # the last line of a killed process
                self._take(json.loads(line))
        await self._process.wait()
        self.over.set()

    def _take(self, said: dict[str, Any]) -> None:
        match said:
            case {"ready": _}:
                self.ready.set()
            case {"accepted": key, "id": task_id}:
                self._log.accepted[key] = task_id
            case {"refused": key, "why": why}:
                self._log.refused[key] = why
            case {"open": count}:
                self._open.append(count)
            case {"redriven": _}:
                self.redriven.set()
            case {"event": seq, "id": task_id}:
                self._log.seen[task_id].append(seq)

    def say(self, **words: Any) -> None:
        assert self._process.stdin is not None
        # A process that was killed hears nothing; what it was asked has an unknown outcome.
        if not self._process.stdin.is_closing():
            self._process.stdin.write(json.dumps(words).encode() + b"\n")

    def submit(
        self, key: str, type_name: str, given: dict[str, Any], unique: str | None = None
    ) -> None:
        self._log.asked[key] = (type_name, given)
        self.say(submit=key, type=type_name, input=given, unique=unique)

    def watch(self, task_id: str) -> None:
        seen = self._log.seen.setdefault(task_id, [])
        self.say(watch=task_id, after=seen[-1] if seen else 0)

    def signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def killed(self, within: float = LONG) -> None:
        """Wait for its end, which comes by a fault of its plan."""
        async with asyncio.timeout(within):
            await self.over.wait()

    async def idle(self, within: float = LONG) -> None:
        """Wait until every task that it knows is in an end state."""
        limit = time.monotonic() + within
        while time.monotonic() < limit:
            self._open.clear()
            self.say(open=1)
            await asyncio.sleep(0.25)
            assert not self.over.is_set(), "the engine has ended"
            if self._open == [0]:
                return
        raise AssertionError(f"{self._open} tasks are in no end state")


class Recorder:
    """A store, the lives of its processes, and all that was recorded.

    On SQLite in a data folder there is one life at a time; a store with an address takes many.
    """

    def __init__(self, folder: Path, store: str = "", **plan: Any) -> None:
        self.folder = folder
        self.store = store
        self.data = folder / "data"
        self.side_effects = folder / "side-effects"
        self.log = ClientLog()
        self.lives = 0
        self.lost_bytes = 0
        self._plan = plan

    @asynccontextmanager
    async def life(self, *, cut_power: bool = True, **plan: Any) -> AsyncIterator[Life]:
        """Start the engine; at the end it is killed, if it still lives, and the power cut."""
        self.lives += 1
        power = self.folder / "unsynced"
        whole = Plan(str(self.data), str(power), self.store, **{**self._plan, **plan})
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "chaos.launcher", whole.text()),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=self._errors(),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(_import_path())},
        )
        life = Life(process, self.log)
        reading = asyncio.create_task(life.read())
        try:
            await self._started(life)
            yield life
        finally:
            life.signal(signal.SIGKILL)
            async with asyncio.timeout(LONG):
                await reading
        if cut_power:
            self.lost_bytes += lose(power, self.data)

    def _errors(self) -> int:
        return os.open(self.folder / "stderr", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    async def _started(self, life: Life) -> None:
        first = [asyncio.create_task(event.wait()) for event in (life.ready, life.over)]
        done, _ = await asyncio.wait(first, timeout=LONG, return_when=asyncio.FIRST_COMPLETED)
        for waiting in first:
            waiting.cancel()
        assert done, "the engine did not start"

    def ask(self, key: str, **more: Any) -> dict[str, Any]:
        """The input of a task."""
        return {"key": key, "log": str(self.side_effects), **more}
