"""The clauses read by a model in rounds: what failed is asked again alone, and at last left.

Every round is a map of its own, so that an answered clause is never asked again. An attempt of the
task has one round more than the attempt before it: a failure that was saved is not the last word.
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from stagepost import Context, Retry
from stagepost.tasks.contract_review.by_model.glossary import glossary
from stagepost.tasks.contract_review.by_model.models import Models
from stagepost.tasks.contract_review.by_model.reader import Reader
from stagepost.tasks.contract_review.by_model.screen import Reading
from stagepost.tasks.contract_review.by_model.trouble import (
    ASKED_AGAIN,
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


async def read_all(
    ctx: Context, models: Models, frame: Knowledge, reviewing: Reviewing, *, may_fall_back: bool
) -> list[Read]:
    """What a model says of every clause, in their order.

    Raises InvalidInput for more windows than can be read, and, unless the caller may fall back, the
    failure of the service if nobody answered at all or another attempt is left.
    """
    alias = frame.model
    assert alias is not None
    made = await asyncio.to_thread(reviewing.windows)
    entries: list[Entry] = [(window, None) for window in made]
    for name in _rounds(ctx.attempt):
        entries = [entry for before in entries for entry in _next(before)]
        todo = [window for window, reading in entries if reading is None]
        if not todo:
            break
        reader = Reader(models, alias, ctx.task_id, may_fall_back)
        readings = iter(
            await ctx.map(
                name,
                reader.read,
                todo,
                frame,
                concurrency=CONCURRENCY,
                progress=(45, 85),
                message="clause {n} of {total}",
            )
        )
        entries = [
            (window, next(readings) if reading is None else reading) for window, reading in entries
        ]
    read = [Read(window, reading) for window, reading in entries if reading is not None]
    if not may_fall_back:
        _insist([one.reading for one in read], ctx.attempt)
    return read


def _rounds(attempt: int) -> Iterator[str]:
    """The names of the rounds up to an attempt's: two for the first, one for each later one."""
    yield "analyse"
    yield "analyse-again"
    for number in range(2, attempt + 1):
        yield f"analyse-again-{number}"


def _next(entry: Entry) -> Iterator[Entry]:
    """What a round does with a window: leave it, ask again, or ask in halves."""
    window, reading = entry
    if reading is None or reading.failure not in ASKED_AGAIN:
        yield entry
    elif reading.failure == "CONTEXT_LENGTH":
        for half in window.halves():
            yield half, None
    else:
        yield window, None


def _insist(readings: Sequence[Reading], attempt: int) -> None:
    """Raise the service's failure where a later attempt may do better, or nobody answered."""
    failures = [one.failure for one in readings if one.failure in OF_THE_SERVICE]
    answered = any(one.failure is None for one in readings)
    if failures and failures[0] is not None and (attempt < RETRY.attempts or not answered):
        raise as_error(failures[0])
