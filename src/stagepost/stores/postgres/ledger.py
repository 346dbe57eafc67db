"""The Calls port. Intents and ends have a queue of their own, so that they are written together."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stagepost.calls import Answered, Bodies, Call, CallEnd, CallKey, NewCall, Tally
from stagepost.records import Scope
from stagepost.spending import Spent, StepSpent, UsageQuery, UsageSum
from stagepost.stores import call_rows, calls
from stagepost.stores.postgres import call_writes
from stagepost.stores.postgres.call_writes import Begin, End
from stagepost.stores.postgres.engine import Engine
from stagepost.stores.postgres.rows import known
from stagepost.task import Lease


class _Question:
    """Values by their numbers, each with its type."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def value(self, value: Any, kind: str) -> str:
        """A number for a value."""
        self.values.append(value)
        return f"${len(self.values)}::{kind}"

    def step(self, task_id: str, path: str) -> str:
        """As the index has it; a path may be longer than an index takes."""
        task, name = self.value(task_id, "text"), self.value(path, "text")
        return (
            f"md5(c.task_id::text || c.path) = md5({task} || {name})"
            f" AND c.path = {name} AND c.task_id::text = {task}"
        )

    def one(self, column: str, value: str) -> str:
        """No join by hashes, which reads a table wholly: plans outlive the sizes of tables."""
        return f"{column} = ANY(ARRAY[{value}])"

    def saved(self) -> str:
        """A step of the same path."""
        return """EXISTS (SELECT FROM steps AS s WHERE s.task_id = c.task_id
            AND md5(s.path) = md5(c.path) AND s.path = c.path)"""


class PostgresCalls:
    """The ledger over the store's engine; made in its event loop."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lane = engine.lane("calls", call_writes.write)

    async def begin(self, lease: Lease, call: NewCall) -> None:
        """Write an intent."""
        await self._write(Begin(lease, call), len(call.request.text or ""))

    async def end(self, task_id: str, call_id: str, end: CallEnd) -> None:
        """Write an end."""
        size = 0 if end.answer is None else len(end.answer.text or "")
        await self._write(End(task_id, call_id, end), size)

    async def _write(self, each: Begin | End, size: int) -> None:
        if self._lane.full(size):
            await self._lane.room(size)
        await self._lane.put(each, size)

    async def reject(self, task_id: str, call_id: str, why: str) -> None:
        """A RESULT is none after all."""
        if not (known(task_id) and known(call_id)):
            raise call_rows.absent(call_id)
        await self._engine.change(lambda tx: call_writes.reject(tx, task_id, call_id, why))

    async def memo(self, task_id: str, key: CallKey) -> Answered | None:
        """The answer that a replay gets."""
        rows = await self._ask(lambda q: calls.memo(q, task_id, key), task_id)
        return call_rows.answered_of(rows[0]) if rows else None

    async def memos(self, task_id: str, after: str | None, limit: int) -> Sequence[Answered]:
        """A page of a task's accepted answers."""
        rows = await self._ask(lambda q: calls.memos(q, task_id, after, limit), task_id, after)
        return list(map(call_rows.answered_of, rows))

    async def tally(self, task_id: str, path: str) -> Tally:
        """A step's calls, counted."""
        rows = await self._ask(lambda q: calls.tally(q, task_id, path), task_id)
        return Tally(*rows[0]) if rows else Tally()

    async def tries(self, task_id: str, key: CallKey) -> int:
        """How often one call was sent for nothing, and perhaps for money."""
        rows = await self._ask(lambda q: calls.tries(q, task_id, key), task_id)
        return int(rows[0][0]) if rows else 0

    async def find(
        self, task_id: str, scope: Scope, after: str | None, limit: int
    ) -> Sequence[Call]:
        """A page of a task's calls."""
        rows = await self._ask(
            lambda q: calls.find(q, task_id, scope, after, limit), task_id, after
        )
        return list(map(call_rows.call_of, rows))

    async def bodies(self, task_id: str, call_id: str, scope: Scope) -> Bodies:
        """What a call has sent and got."""
        rows = await self._ask(lambda q: calls.bodies(q, task_id, call_id, scope), task_id, call_id)
        return call_rows.bodies_of(call_id, rows)

    async def unknown(self, scope: Scope, after: str | None, limit: int) -> Sequence[Call]:
        """A page of the UNKNOWN calls."""
        rows = await self._ask(lambda q: calls.unknown(q, scope, after, limit), after)
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
        rows = await self._ask(lambda q: calls.spent(q, task_id, scope), task_id)
        return Spent(*rows[0]) if rows else Spent()

    async def spent_by_step(
        self, task_id: str, scope: Scope, after: str | None, limit: int
    ) -> Sequence[StepSpent]:
        """What a task's steps have cost."""
        rows = await self._ask(
            lambda q: calls.spent_by_step(q, task_id, scope, after, limit), task_id
        )
        return list(map(call_rows.step_of, rows))

    async def note_unknown(self, limit: int) -> int:
        """Count UNKNOWN calls; asks first, so that an idle store is not written to."""
        if not await self._engine.read(lambda db: db.fetchval(calls.ANY_LOST)):
            return 0
        return await self._engine.change(lambda tx: call_writes.note_unknown(tx, limit))

    async def _ask(self, statement: Callable[[_Question], str], *ids: str | None) -> Sequence[Any]:
        """The rows of a statement; none where one of these is no id at all."""
        if not all(each is None or known(each) for each in ids):
            return ()
        question = _Question()
        text = statement(question)
        rows: Sequence[Any] = await self._engine.read(lambda db: db.fetch(text, *question.values))
        return rows
