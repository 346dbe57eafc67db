"""The journal of a claim that is kept nowhere."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from stagepost.errors import NotFound
from stagepost.journal import Found, NewStep
from stagepost.limiter import Verdict
from stagepost.records import ProgressNote


class SavedFile(NamedTuple):
    """An artifact that a handler saved."""

    media_type: str
    content: bytes


class MemoryJournal:
    """Keeps what a handler writes, in order. `uploads` are local files by upload id."""

    def __init__(self, uploads: Mapping[str, Path], checkpoints: Mapping[str, NewStep]) -> None:
        self._uploads = uploads
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
