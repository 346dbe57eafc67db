"""What a handler does with children: start them, wait for them without a worker, take the results.

Neither a result nor a failure of a child is a checkpoint of its parent: a replay finds the same
children by their path, and reads them again.
"""

import asyncio
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import orjson
from pydantic import BaseModel
from pydantic_core import from_json, to_json

from stagepost import codec
from stagepost.batch import PAGE, PAGE_BYTES, Batch, ChildRecord
from stagepost.errors import CancelAsked, ChildFailed, CodeChanged
from stagepost.flight import BranchWait, Flight
from stagepost.gate import Gate
from stagepost.journal import Journal, NewChildren
from stagepost.outputs import noted
from stagepost.scope import CURRENT
from stagepost.task import SETTLED, Status
from stagepost.waiting import ChildrenOver

MOST_CHILDREN: Final = 1_000_000
"""Children of one batch."""

_READ: Final = 200  # children whose results are read at once
_LOOK_FIRST: Final = 0.1  # seconds between two looks of a branch that waits beside others
_LOOK_MOST: Final = 2.0

OnFailure = Literal["stop", "collect"]


@dataclass(frozen=True, slots=True)
class ChildResult:
    """How a child has ended: COMPLETED with a result (plain JSON data), or not so."""

    task_id: str
    status: Status
    result: Any = None
    failure_kind: str | None = None
    error_message: str | None = None


class Plan(NamedTuple):
    """What all children of one call share; `progress` and `message` as in `Context.map`."""

    type: str
    lane: str | None = None
    detached: bool = False
    progress: tuple[int, int] | None = None
    message: str = ""


class _Value(NamedTuple):
    """An input as it was given, and the bytes that stand for it in every process."""

    given: Any
    canonical: bytes


class Children:
    """One claim's hand in the engine, as far as children go."""

    def __init__(self, journal: Journal, gate: Gate) -> None:
        self._journal = journal
        self._gate = gate

    async def child(self, plan: Plan, value: Any, key: str | None) -> Any:
        """Start one child and wait for its result."""
        with CURRENT.get().enter(plan.type, key) as path:
            batch = await self._start(path, plan, [value], stop=False)
            (child,) = await self._ended(batch, stop=False, texts=True)
        if child.status is not Status.COMPLETED:
            raise _failed(plan.type, child)
        return child.result

    async def spawn(self, plan: Plan, value: Any, key: str | None) -> str:
        """Start one child; answers its id."""
        with CURRENT.get().enter(plan.type, key) as path:
            batch = await self._start(path, plan, [value], stop=False)
            (child,) = await self._page(batch, -1, 1, texts=False)
        return child.task_id

    async def batch(
        self,
        plan: Plan,
        values: Iterable[Any],
        on_failure: OnFailure,
        key: str | None,
        *,
        texts: bool,
    ) -> list[Any]:
        """Start many children and wait for all of them, or until the first fails."""
        if on_failure not in {"stop", "collect"}:
            raise ValueError(f'on_failure is "stop" or "collect", not {on_failure!r}.')
        stop = on_failure == "stop"
        with CURRENT.get().enter(plan.type, key) as path:
            batch = await self._start(path, plan, values, stop=stop)
            results = await self._ended(batch, stop=stop, texts=texts)
        if not stop:
            return results
        for child in results:
            if child.status is not Status.COMPLETED:
                raise _failed(plan.type, child)
        return [child.result for child in results]

    async def _start(self, path: str, plan: Plan, values: Iterable[Any], *, stop: bool) -> Batch:
        """The batch with all its children; those that were made before are only compared."""
        self._gate.used()
        batch = await self._gate.through(self._journal.batch, path)
        digest = hashlib.sha256(plan.type.encode()).hexdigest()
        end = 0
        for page, last in _pages(values):
            first, end, before = end, end + len(page), digest
            if end > MOST_CHILDREN:
                raise ValueError(f"At most {MOST_CHILDREN:,} children are started by one call.")
            digest = _digest(before, page)
            if batch is None or batch.made <= first:
                _compare(batch, before, path)
                batch = await self._spawn(
                    NewChildren(path, *plan, first, _texts(plan.type, page), before, digest, last)
                )
            elif batch.made == end:
                _compare(batch, digest, path)
            if stop and batch.failed > 0:
                return batch
            # A replay of many pages lets others have their turn.
            await asyncio.sleep(0)
        if batch is not None and (batch.made != end or not batch.sealed):
            raise _changed(path)
        return batch or Batch("", "", path, plan.type, 0, True, 0, 0, digest)

    async def _spawn(self, asked: NewChildren) -> Batch:
        flight = CURRENT.get().flight
        try:
            async with Flight(self._gate, flight):
                batch = await self._gate.through(self._journal.spawn, asked)
        except CancelAsked:
            # The worker is being told as well, and unwinds this.
            await self._gate.hold(flight)
            raise
        return batch

    async def _ended(self, batch: Batch, *, stop: bool, texts: bool) -> list[ChildResult]:
        """The children once all have settled, or with `stop` one has failed: then those alone."""
        while batch.made:
            batch = await self._over(batch, stop=stop)
            if stop and batch.failed > 0:
                texts = False
            found = await self._results(batch, texts=texts)
            failed = [child for child in found if child.status in SETTLED - {Status.COMPLETED}]
            if stop and failed:
                return failed
            if batch.sealed and all(child.status in SETTLED for child in found):
                await self._tell_end(batch)
                return found
            # One was sent back meanwhile.
            batch = await self._again(batch)
        return []

    async def _tell_end(self, batch: Batch) -> None:
        """The last of what is told while it waits: the child that wakes a parent tells nothing."""
        if batch.percent is not None:
            note = noted(batch.percent, batch.told, None)
            await self._gate.through(self._journal.note, note)

    async def _over(self, batch: Batch, *, stop: bool) -> Batch:
        if batch.is_over(stop=stop):
            return batch
        condition = ChildrenOver(batch.path, batch.path, stop)
        async with BranchWait(self._gate, condition, CURRENT.get().flight) as wait:
            pause = _LOOK_FIRST
            while True:
                found = await self._again(batch)
                if found.is_over(stop=stop):
                    return found
                await wait.rest(pause)
                pause = min(2 * pause, _LOOK_MOST)

    async def _again(self, batch: Batch) -> Batch:
        found = await self._gate.through(self._journal.batch, batch.path)
        assert found is not None, batch.path
        return found

    async def _results(self, batch: Batch, *, texts: bool) -> list[ChildResult]:
        found: list[ChildResult] = []
        many = _READ if texts else PAGE
        while len(found) < batch.made:
            page = await self._page(batch, len(found) - 1, many, texts=texts)
            if not page:
                break
            found += [await self._result(record, texts=texts) for record in page]
            many = _next_many(many, page)
        return found

    async def _page(
        self, batch: Batch, after: int, many: int, *, texts: bool
    ) -> Sequence[ChildRecord]:
        return await self._gate.through(self._journal.children, batch.id, after, many, texts=texts)

    async def _result(self, record: ChildRecord, *, texts: bool) -> ChildResult:
        result = None
        if texts and record.result is not None:
            text = record.result.text
            if text is None:
                text = await self._gate.through(self._journal.text, record.result)
            result = from_json(text)
        return ChildResult(
            record.task_id, record.status, result, record.failure_kind, record.error_message
        )


def _next_many(many: int, page: Sequence[ChildRecord]) -> int:
    """How many results to read next: more while they are small."""
    size = sum(record.result.size for record in page if record.result is not None)
    fit = PAGE_BYTES * len(page) // max(1, size)
    return max(_READ, min(2 * many, fit, PAGE))


def _pages(values: Iterable[Any]) -> Iterator[tuple[list[_Value], bool]]:
    """Pages of values, each with whether it is the last one.

    A page is checked and made in one turn, from texts that take many times their size when they are
    parsed: so it is bounded by both. Where it ends depends on the values alone, for replays.
    """
    page: list[_Value] = []
    size = 0
    for number, given in enumerate(values):
        value = _Value(given, _canonical(given))
        if page and (number % PAGE == 0 or size + len(value.canonical) > PAGE_BYTES):
            yield page, False
            page, size = [], 0
        page.append(value)
        size += len(value.canonical)
    if page:
        yield page, True


def _digest(before: str, page: Sequence[_Value]) -> str:
    chain = before
    for value in page:
        chain = hashlib.sha256(chain.encode() + value.canonical).hexdigest()
    return chain


def _canonical(value: Any) -> bytes:
    """The same bytes for the same input in every process."""
    plain = value.model_dump(by_alias=True) if isinstance(value, BaseModel) else value
    try:
        return orjson.dumps(plain, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        # Sets, whose order is another in each process, and what else is no plain JSON; slower.
        return codec.digest([value], {}).encode()


def _texts(name: str, page: Sequence[_Value]) -> tuple[str, ...]:
    return tuple(_text(name, value.given) for value in page)


def _text(name: str, value: Any) -> str:
    try:
        return to_json(value, by_alias=True, bytes_mode="base64").decode()
    except (ValueError, TypeError, RecursionError) as error:
        raise TypeError(f"The input of {name} must serialise to JSON ({error}).") from error


def _compare(batch: Batch | None, digest: str, path: str) -> None:
    if batch is not None and batch.digest != digest:
        raise _changed(path)


def _changed(path: str) -> CodeChanged:
    return CodeChanged(
        f'The children at "{path}" were started with other inputs; the code has changed since. '
        "Redrive the task fresh, or from that step."
    )


def _failed(name: str, child: ChildResult) -> ChildFailed:
    why = f" ({child.failure_kind}: {child.error_message})" if child.failure_kind else ""
    return ChildFailed(
        f"The child {child.task_id} of type {name} is {child.status}{why}.",
        task_id=child.task_id,
        status=child.status.value,
        failure_kind=child.failure_kind,
    )
