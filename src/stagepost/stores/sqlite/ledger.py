"""The Calls port."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stagepost.calls import Answered, Bodies, Call, CallEnd, CallKey, NewCall, Tally
from stagepost.records import Scope
from stagepost.spending import Spent, StepSpent, UsageQuery, UsageSum
from stagepost.stores import call_rows, calls
from stagepost.stores.sqlite import call_writes
from stagepost.stores.sqlite.intents import Kind
from stagepost.stores.sqlite.readers import Readers
from stagepost.stores.sqlite.writer import Writer
from stagepost.task import Lease


class _Question:
    """Values by their numbers."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def value(self, value: Any, kind: str) -> str:
        """A number for a value; SQLite needs no type."""
        del kind
        self.values.append(value)
        return f"?{len(self.values)}"

    def step(self, task_id: str, path: str) -> str:
        """An index takes a path of any length."""
        return f"c.task_id = {self.value(task_id, 'uuid')} AND c.path = {self.value(path, 'text')}"

    def one(self, column: str, value: str) -> str:
        """The sign keeps SQLite from looking up the other table for each row of this one."""
        return f"{column} = +{value}"

    def saved(self) -> str:
        """A step of the same path."""
        return "EXISTS (SELECT 1 FROM steps AS s WHERE s.task_id = c.task_id AND s.path = c.path)"


class SqliteCalls:
    """The ledger over the store's writer and readers."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer = writer
        self._readers = readers

    async def begin(self, lease: Lease, call: NewCall) -> None:
        """Write an intent."""
        size = len(call.request.text or "")
        await self._writer.call(Kind.STEP, call_writes.begin, (lease, call), size)

    async def end(self, task_id: str, call_id: str, end: CallEnd) -> None:
        """Write an end."""
        size = 0 if end.answer is None else len(end.answer.text or "")
        await self._writer.call(Kind.STEP, call_writes.end, (task_id, call_id, end), size)

    async def reject(self, task_id: str, call_id: str, why: str) -> None:
        """A RESULT is none after all."""
        await self._writer.call(Kind.STEP, call_writes.reject, (task_id, call_id, why), len(why))

    async def memo(self, task_id: str, key: CallKey) -> Answered | None:
        """The answer that a replay gets."""
        rows = await self._ask(lambda q: calls.memo(q, task_id, key))
        return call_rows.answered_of(rows[0]) if rows else None

    async def memos(self, task_id: str, after: str | None, limit: int) -> Sequence[Answered]:
        """A page of a task's accepted answers."""
        rows = await self._ask(lambda q: calls.memos(q, task_id, after, limit))
        return list(map(call_rows.answered_of, rows))

    async def tally(self, task_id: str, path: str) -> Tally:
        """A step's calls, counted."""
        (row,) = await self._ask(lambda q: calls.tally(q, task_id, path))
        return Tally(*row)

    async def tries(self, task_id: str, key: CallKey) -> int:
        """How often one call was sent for nothing, and perhaps for money."""
        ((count,),) = await self._ask(lambda q: calls.tries(q, task_id, key))
        return int(count)

    async def find(
        self, task_id: str, scope: Scope, after: str | None, limit: int
    ) -> Sequence[Call]:
        """A page of a task's calls."""
        rows = await self._ask(lambda q: calls.find(q, task_id, scope, after, limit))
        return list(map(call_rows.call_of, rows))

    async def bodies(self, task_id: str, call_id: str, scope: Scope) -> Bodies:
        """What a call has sent and got."""
        rows = await self._ask(lambda q: calls.bodies(q, task_id, call_id, scope))
        return call_rows.bodies_of(call_id, rows)

    async def unknown(self, scope: Scope, after: str | None, limit: int) -> Sequence[Call]:
        """A page of the UNKNOWN calls."""
        rows = await self._ask(lambda q: calls.unknown(q, scope, after, limit))
        return list(map(call_rows.call_of, rows))

    async def unknown_by_type(self) -> Mapping[str, int]:
        """The UNKNOWN calls, counted."""
        rows = await self._ask(lambda _: calls.UNKNOWN_BY_TYPE)
        return {row[0]: row[1] for row in rows}

    async def usage(self, scope: Scope, query: UsageQuery) -> Sequence[UsageSum]:
        """What was spent."""
        rows = await self._ask(lambda q: calls.usage(q, scope, query))
        return call_rows.usage_of(query, rows)

    async def spent(self, task_id: str, scope: Scope) -> Spent:
        """What a task has cost."""
        (row,) = await self._ask(lambda q: calls.spent(q, task_id, scope))
        return Spent(*row)

    async def spent_by_step(
        self, task_id: str, scope: Scope, after: str | None, limit: int
    ) -> Sequence[StepSpent]:
        """What a task's steps have cost."""
        rows = await self._ask(lambda q: calls.spent_by_step(q, task_id, scope, after, limit))
        return list(map(call_rows.step_of, rows))

    async def note_unknown(self, limit: int) -> int:
        """Count UNKNOWN calls; asks a reader first, so that an idle store is not written to."""
        if not (await self._ask(lambda _: calls.ANY_LOST))[0][0]:
            return 0
        noted: int = await self._writer.call(Kind.CHANGE, call_writes.note_unknown, limit)
        return noted

    async def _ask(self, statement: Callable[[_Question], str]) -> list[Any]:
        question = _Question()
        text = statement(question)
        return await self._readers.call(lambda db: db.execute(text, question.values).fetchall())
