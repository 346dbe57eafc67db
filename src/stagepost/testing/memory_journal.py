"""The journal of a claim that is kept nowhere."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from stagepost.errors import NotFound
from stagepost.journal import Found, NewStep
from stagepost.limiter import Verdict
from stagepost.records import ProgressNote
from stagepost.signals import NewWait, OpenWait, Pending, Signal, end_of, pending
from stagepost.waiting import milliseconds


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

    async def find(self, path: str) -> Found | None:
        """The step saved under a path."""
        self.asked.append(path)
        step = self.steps.get(path)
        return None if step is None else Found(step.input_hash, step.text)

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
