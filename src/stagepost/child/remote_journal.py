"""The child's side of the journal, which its parent keeps."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stagepost.batch import Batch, ChildRecord
from stagepost.child.frames import Answer, Ask, Pipe
from stagepost.journal import CallWait, Found, GotCall, NewChildren, NewStep, WantedCall
from stagepost.limiter import Verdict
from stagepost.records import ProgressNote
from stagepost.signals import NewWait, Pending
from stagepost.task import Payload


class RemoteJournal:
    """Asks the parent for everything."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._number = 0

    async def find(self, path: str) -> Found | None:
        """The step saved under a path."""
        found: Found | None = await self._ask("find", path)
        return found

    async def begin(self) -> None:
        """Return once something may be started."""
        await self._ask("begin")

    async def save(self, step: NewStep) -> None:
        """Save a step."""
        await self._ask("save", step)

    async def sleep(self, path: str, seconds: float) -> Pending:
        """How long a sleep still lasts."""
        pending: Pending = await self._ask("sleep", path, seconds)
        return pending

    async def listen(self, wait: NewWait) -> Pending | str:
        """Take a signal, or go on waiting."""
        answer: Pending | str = await self._ask("listen", wait)
        return answer

    async def note(self, note: ProgressNote) -> None:
        """Say how far the task is."""
        await self._ask("note", note)

    async def emit(self, step: str, text: str) -> None:
        """Send text to whoever watches."""
        await self._ask("emit", step, text)

    async def attach(self, name: str, media_type: str, content: bytes | Path) -> None:
        """Save an artifact."""
        await self._ask("attach", name, media_type, content)

    async def batch(self, path: str) -> Batch | None:
        """The children at a path."""
        batch: Batch | None = await self._ask("batch", path)
        return batch

    async def spawn(self, children: NewChildren) -> Batch:
        """Start children."""
        batch: Batch = await self._ask("spawn", children)
        return batch

    async def children(
        self, batch_id: str, after: int, limit: int, *, texts: bool
    ) -> Sequence[ChildRecord]:
        """A page of a batch's children."""
        found: Sequence[ChildRecord] = await self._ask(
            "children", batch_id, after, limit, texts=texts
        )
        return found

    async def text(self, value: Payload) -> str:
        """A value's JSON text."""
        text: str = await self._ask("text", value)
        return text

    async def path(self, key: str) -> Path:
        """A local file with an upload's bytes."""
        path: Path = await self._ask("path", key)
        return path

    async def replays(self, path: str) -> bool:
        """Whether a saved step in this scope is still to come."""
        replays: bool = await self._ask("replays", path)
        return replays

    async def reserve(self, place: str, wants: Mapping[str, int], patience: float) -> Verdict:
        """Take units of limits."""
        verdict: Verdict = await self._ask("reserve", place, wants, patience)
        return verdict

    async def release(self, place: str) -> None:
        """What is held is free."""
        await self._ask("release", place)

    async def models(self) -> Sequence[str]:
        """The names under which models can be called."""
        names: Sequence[str] = await self._ask("models")
        return names

    async def call(self, wanted: WantedCall) -> GotCall | CallWait:
        """Call a model."""
        told: GotCall | CallWait = await self._ask("call", wanted)
        return told

    async def reject(self, call_id: str, why: str) -> None:
        """An answer can't be used."""
        await self._ask("reject", call_id, why)

    def answered(self, answer: Answer) -> None:
        """The parent has answered."""
        future = self._asked.pop(answer.number, None)
        if future is None or future.done():
            return
        if answer.error is not None:
            future.set_exception(answer.error)
        else:
            future.set_result(answer.value)

    async def _ask(self, method: str, *args: Any, **named: Any) -> Any:
        self._number += 1
        number = self._number
        future = self._asked[number] = asyncio.get_running_loop().create_future()
        try:
            await self._pipe.send(Ask(number, method, args, named))
            return await future
        finally:
            self._asked.pop(number, None)
