"""The journal of a claim that is kept nowhere."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid5

import orjson
from uuid_utils import uuid7

from stagepost.batch import Batch, ChildRecord
from stagepost.errors import NotFound
from stagepost.journal import Found, GotCall, NewChildren, NewStep, WantedCall
from stagepost.limiter import Verdict
from stagepost.llm.provider import Answer
from stagepost.records import ProgressNote
from stagepost.signals import NewWait, OpenWait, Pending, Signal, end_of, pending
from stagepost.task import Payload, Status
from stagepost.testing.played_models import Played, PlayedModels
from stagepost.waiting import milliseconds

_FAMILY: Final = UUID("9f0c6a52-4f0e-4c1c-9d43-2f6f6c3d8a11")

RunChild = Callable[[str, int, str, str], Awaitable[ChildRecord]]
"""Runs a child, given its id, place, type and input."""


class SavedFile(NamedTuple):
    """An artifact that a handler saved."""

    media_type: str
    content: bytes


class MemoryJournal:
    """Keeps what a handler writes, in order. `uploads` are local files by upload id.

    `signals` are those that were sent, by name. Its time begins at 0 and moves only with what is
    waited for: with `skip_time` every wait that has an end ends at once.
    """

    def __init__(
        self,
        uploads: Mapping[str, Path],
        checkpoints: Mapping[str, NewStep],
        signals: Mapping[str, Sequence[Any]] | None = None,
        *,
        skip_time: bool = True,
        run_child: RunChild | None = None,
        task_id: str = "",
        models: Mapping[str, Played] | None = None,
    ) -> None:
        self._uploads = uploads
        self._skip_time = skip_time
        self._waits: dict[str, OpenWait] = {}
        self._signals = [
            Signal(f"{name} {number}", name, orjson.dumps(value).decode(), "test")
            for name, values in (signals or {}).items()
            for number, value in enumerate(values)
        ]
        self.now = 0
        """Milliseconds of waiting that were skipped."""
        self._run_child = run_child
        self._task_id = task_id
        self.models_played = PlayedModels(models or {})
        self._batches: dict[str, Batch] = {}
        self._children: dict[str, list[ChildRecord]] = {}
        self.steps = dict(checkpoints)
        """What is saved, in the order of saving: the given checkpoints, then what ran."""
        self.ran: list[str] = []
        """The paths of the steps that were saved here, in that order."""
        self.asked: list[str] = []
        """The paths that the handler came to, in that order."""
        self.notes: list[ProgressNote] = []
        self.texts: dict[str, str] = {}
        self.artifacts: dict[str, SavedFile] = {}
        self.units: Counter[str] = Counter()
        """What was taken of limits; in memory everything is granted."""

    async def models(self) -> Sequence[str]:
        """The models that the test plays."""
        return self.models_played.names

    async def call(self, wanted: WantedCall) -> GotCall:
        """What the test answers."""
        got = self.models_played.call(wanted)
        if wanted.emit and isinstance(got.answer, Answer):
            await self.emit(wanted.path or "main", got.answer.text)
        return got

    async def reject(self, call_id: str, why: str) -> None:
        """Note why an answer could not be used."""
        self.models_played.rejected[call_id] = why

    async def find(self, path: str) -> Found | None:
        """The step saved under a path."""
        self.asked.append(path)
        step = self.steps.get(path)
        return None if step is None else Found(step.input_hash, step.text)

    async def begin(self) -> None:
        """Nobody else could be given what runs here."""

    async def save(self, step: NewStep) -> None:
        """Keep a step."""
        self.steps[step.path] = step
        self.ran.append(step.path)

    async def sleep(self, path: str, seconds: float) -> Pending:
        """How long a sleep still lasts."""
        until = self._waits.setdefault(path, OpenWait(path, None, self._end(seconds))).until
        self._pass_to(until)
        return pending(until, self.now)

    async def listen(self, wait: NewWait) -> Pending | str:
        """Take a signal that was given, or end the wait at its time-out."""
        opened = self._waits.setdefault(wait.path, wait.opened(self.now))
        if not any(signal.name == wait.signal for signal in self._signals):
            self._pass_to(opened.until)
        # Whoever runs a handler by hand may send everything.
        end = end_of(opened._replace(approvers=None), self._signals, self.now)
        if end is None:
            return pending(opened.until, self.now)
        signal, text = end
        if signal is not None:
            self._signals.remove(signal)
        await self.save(NewStep(wait.path, wait.name, wait.input_hash, text, 0))
        return text

    def _end(self, seconds: float) -> int:
        return self.now + milliseconds(seconds)

    def _pass_to(self, until: int | None) -> None:
        if self._skip_time and until is not None:
            self.now = max(self.now, until)

    async def note(self, note: ProgressNote) -> None:
        """Keep progress; as watchers see it, it never falls."""
        least = self.notes[-1].percent if self.notes else 0
        self.notes.append(note._replace(percent=max(least, note.percent)))

    async def emit(self, step: str, text: str) -> None:
        """Keep text."""
        self.texts[step] = self.texts.get(step, "") + text

    async def attach(self, name: str, media_type: str, content: bytes | Path) -> None:
        """Keep an artifact."""
        if isinstance(content, Path):
            content = await asyncio.to_thread(content.read_bytes)
        self.artifacts[name] = SavedFile(media_type, content)

    async def batch(self, path: str) -> Batch | None:
        """The children at a path."""
        return self._batches.get(path)

    async def spawn(self, children: NewChildren) -> Batch:
        """Run children to their ends, one after the other.

        Their ids come from their parent's and their places: a replay finds the same children.
        """
        if self._run_child is None:
            raise RuntimeError("This run has no app, so it can't run children.")
        earlier = self._batches.get(children.path)
        batch_id = str(uuid7()) if earlier is None else earlier.id
        family = self._children.setdefault(batch_id, [])
        for place, text in enumerate(children.inputs, children.first):
            child_id = str(uuid5(_FAMILY, f"{self._task_id} {children.path} {place}"))
            family.append(await self._run_child(child_id, place, children.type, text))
        failed = sum(child.status is not Status.COMPLETED for child in family)
        low, high = children.progress or (None, None)
        batch = Batch(
            batch_id, "", children.path, children.type, len(family), children.last, 0, failed,
            children.after, low, high, children.message,
        )  # fmt: skip
        self._batches[children.path] = batch
        return batch

    async def children(
        self, batch_id: str, after: int, limit: int, *, texts: bool
    ) -> Sequence[ChildRecord]:
        """A page of a batch's children."""
        del texts
        return self._children[batch_id][after + 1 : after + 1 + limit]

    async def text(self, value: Payload) -> str:
        """A value's JSON text."""
        return value.text or "null"

    async def replays(self, path: str) -> bool:
        """Whether a given step, right in this scope, was not asked for yet."""
        seen = {*self.asked, *self.ran}
        return any(step not in seen and step.rpartition("/")[0] == path for step in self.steps)

    async def reserve(self, place: str, wants: Mapping[str, int], patience: float) -> Verdict:
        """Grant it."""
        del place, patience
        self.units.update(wants)
        return Verdict(granted=True)

    async def release(self, place: str) -> None:
        """Nothing is held."""

    async def path(self, key: str) -> Path:
        """The file of an upload."""
        try:
            return self._uploads[key]
        except KeyError:
            raise NotFound(f"The run was given no upload {key}.") from None
