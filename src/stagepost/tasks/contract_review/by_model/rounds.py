"""The clauses read by a model in rounds: what failed is asked again alone, and at last left.

Every round is a map of its own, so that an answered clause is never asked again. Where an attempt
of the task fails because nobody answered, the next one has a round more: a failure that was saved
is not the last word.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from stagepost import Context, Retry
from stagepost.tasks.contract_review.by_model.glossary import glossary
from stagepost.tasks.contract_review.by_model.models import Models
from stagepost.tasks.contract_review.by_model.reader import Reader
from stagepost.tasks.contract_review.by_model.screen import Reading
from stagepost.tasks.contract_review.by_model.trouble import (
    ASKED_AGAIN,
    IN_HALVES,
    OF_THE_SERVICE,
    as_error,
)
from stagepost.tasks.contract_review.by_model.windows import Window, windows
from stagepost.tasks.contract_review.clause_item import ClauseItem
from stagepost.tasks.contract_review.frame import Knowledge
from stagepost.tasks.contract_review.report import Finding
from stagepost.tasks.documents import Clause, Document

CONCURRENCY: Final = 64
"""Calls that may be wanted at once; how many are sent is the limiter's to say."""

PAUSE: Final = "30s"
"""Between the rounds of a caller who may fall back, when the service has failed."""

RETRY: Final = Retry()
"""The task's; its last attempt leaves what still fails, and says so."""

Entry = tuple[Window, Reading | None]


class Read(NamedTuple):
    """A window with what came of it."""

    window: Window
    reading: Reading


class Reviewing(NamedTuple):
    """What the rounds are about."""

    document: Document
    clauses: tuple[Clause, ...]
    items: tuple[ClauseItem, ...]
    found: list[list[Finding]]

    def windows(self) -> tuple[Window, ...]:
        """The windows to be read; takes a while for a long contract."""
        return windows(self.items, self.found, glossary(self.document, self.clauses))


@dataclass(frozen=True, slots=True)
class Rounds:
    """The rounds of one review, for a caller who `may_fall_back` to the rules or not."""

    ctx: Context
    models: Models
    frame: Knowledge
    may_fall_back: bool

    async def read_all(self, reviewing: Reviewing) -> list[Read]:
        """What a model says of every clause, in their order.

        Raises InvalidInput for more windows than can be read, and, unless the caller may fall back,
        the failure of the service if nobody answered at all or another attempt is left.
        """
        made = await asyncio.to_thread(reviewing.windows)
        entries: list[Entry] = [(window, None) for window in made]
        failure = None
        for attempt in range(1, self.ctx.attempt + 1):
            for name in _names(attempt):
                await self._pause(entries)
                entries = await self._round(name, entries)
            readings = [reading for _, reading in entries if reading is not None]
            failure = None if self.may_fall_back else _unsettled(readings, attempt)
            if failure is None:
                # Also on a later attempt: what came after this has seen these readings.
                break
        if failure is not None:
            raise as_error(failure)
        return [Read(window, reading) for window, reading in entries if reading is not None]

    async def _pause(self, entries: list[Entry]) -> None:
        """Let a service come back that has failed; who may not fall back waits in each call."""
        failed = any(one is not None and one.failure in OF_THE_SERVICE for _, one in entries)
        if failed and self.may_fall_back:
            await self.ctx.sleep(PAUSE)

    async def _round(self, name: str, entries: list[Entry]) -> list[Entry]:
        """The entries after one round; nobody is asked where nothing is left to ask."""
        entries = [entry for before in entries for entry in _next(before)]
        todo = [window for window, reading in entries if reading is None]
        if not todo:
            return entries
        assert self.frame.model is not None
        reader = Reader(self.models, self.frame.model, self.ctx.task_id, self.may_fall_back)
        read = await self.ctx.map(
            name,
            reader.read,
            todo,
            self.frame,
            concurrency=CONCURRENCY,
            progress=(45, 85),
            message="clause {n} of {total}",
        )
        readings = iter(read)
        return [
            (window, next(readings) if reading is None else reading) for window, reading in entries
        ]


def _names(attempt: int) -> tuple[str, ...]:
    """The names of an attempt's rounds: what failed has two in the first, one in each later one."""
    return ("analyse", "analyse-again") if attempt == 1 else (f"analyse-again-{attempt}",)


def _next(entry: Entry) -> Iterator[Entry]:
    """What a round does with a window: leave it, ask again, or ask in halves."""
    window, reading = entry
    if reading is None or reading.failure not in ASKED_AGAIN:
        yield entry
    elif reading.failure in IN_HALVES:
        for half in window.halves():
            yield half, None
    else:
        yield window, None


def _unsettled(readings: Sequence[Reading], attempt: int) -> str | None:
    """The service's failure for which a later attempt may do better, or nobody answered."""
    failures = [one.failure for one in readings if one.failure in OF_THE_SERVICE]
    answered = any(one.failure is None for one in readings)
    return failures[0] if failures and (attempt < RETRY.attempts or not answered) else None
