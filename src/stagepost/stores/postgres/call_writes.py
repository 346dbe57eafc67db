"""The ledger's writes: one statement for all intents of a batch, and one for all ends.

Whoever ends a call locks its task first, then takes the call from the open ones, and adds to the
usage last, in the order of its keys: so nobody waits for another crosswise.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from stagepost.calls import CallEnd, NewCall, lies_under
from stagepost.errors import StagepostError
from stagepost.failure import FailureKind
from stagepost.records import Resume
from stagepost.stores.call_rows import (
    BEGUN,
    ENDED,
    absent,
    begun_values,
    end_values,
    spoilt_message,
)
from stagepost.stores.calls import (
    ADD,
    ADDED,
    ANSWER,
    DAY_KEY,
    DELTAS,
    NOTED,
    REQUEST,
    SPOILT,
    USAGE_KEY,
    USAGE_SUMS,
    lost,
)
from stagepost.stores.postgres.fenced import sound
from stagepost.stores.postgres.rows import MS, known
from stagepost.stores.postgres.transaction import Transaction, Work
from stagepost.stores.redriving import Cut
from stagepost.stores.wording import call_taken, cancel_asked, lease_lost
from stagepost.task import Lease

_BEGIN: Final = f"""
WITH n AS MATERIALIZED (SELECT {MS} AS ms), r AS MATERIALIZED (
    SELECT * FROM unnest($2::uuid[], $3::integer[], $4::uuid[], $5::uuid[], $6::text[], $7::text[],
        $8::bigint[], $9::text[], $10::text[], $11::bigint[], $12::bigint[], $13::bigint[],
        $14::boolean[], $15::text[], $16::bigint[], $17::text[], $18::text[]) WITH ORDINALITY
        AS r (task_id, fence, lease_id, {BEGUN}, body, blob, no)
), owned AS MATERIALIZED (
    SELECT r.*, t.tenant, t."user", t.type, t.attempt, t.saved_steps, t.cancel IS NOT NULL AS asked
    FROM r CROSS JOIN LATERAL (
        SELECT * FROM tasks AS t WHERE t.id = r.task_id AND t.fence = r.fence
            AND t.lease_id = r.lease_id AND t.status = 'RUNNING' FOR UPDATE) AS t
), w AS MATERIALIZED (
    -- Null where there is no call of this id.
    SELECT owned.*, (SELECT c.task_id = owned.task_id AND c.fence = owned.fence
        AND c.request_hash = owned.request_hash FROM calls AS c WHERE c.id = owned.id) AS same
    FROM owned
), k AS MATERIALIZED (SELECT w.*, n.ms FROM w, n WHERE same IS NULL AND NOT asked), begun AS (
    INSERT INTO calls (task_id, tenant, "user", type, attempt, fence, steps, started_at, {BEGUN})
    SELECT task_id, tenant, "user", type, attempt, fence, saved_steps, ms, {BEGUN} FROM k
), opened AS (
    INSERT INTO open_calls (task_id, id, tenant, type, fence)
    SELECT task_id, id, tenant, type, fence FROM k
), bodies AS (
    INSERT INTO call_bodies (task_id, call_id, part, redacted, body, blob)
    SELECT task_id, id, '{REQUEST}', redacted, body, blob FROM k
), kept AS (
    UPDATE blobs SET kept = true WHERE key = ANY(ARRAY(SELECT blob FROM k WHERE blob IS NOT NULL))
)
SELECT n.ms, w.no, w.same, w.asked FROM n LEFT JOIN w ON true"""

_SUMMED: Final = f"""
{ADD} SELECT {USAGE_KEY}, {", ".join(f"sum({name})" for name in USAGE_SUMS)} FROM (
    SELECT {DAY_KEY}, {{sums}} FROM {{calls}}) AS d ({USAGE_KEY}, {", ".join(USAGE_SUMS)})
GROUP BY {USAGE_KEY} ORDER BY {USAGE_KEY} {ADDED}"""

_END: Final = f"""
WITH n AS MATERIALIZED (SELECT {MS} AS ms), r AS MATERIALIZED (
    SELECT * FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::bigint[], $6::bigint[],
        $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::text[],
        $13::text[], $14::text[], $15::boolean[], $16::text[], $17::bigint[], $18::boolean[],
        $19::text[], $20::text[]) WITH ORDINALITY
        AS r (task_id, id, {", ".join(ENDED)}, redacted, body, blob, no)
), mine AS MATERIALIZED (
    SELECT t.id, t.fence, t.status FROM tasks AS t WHERE t.id = ANY(ARRAY(SELECT task_id FROM r))
    ORDER BY t.id FOR UPDATE
), gone AS (
    DELETE FROM open_calls AS o USING r WHERE o.id = ANY(ARRAY[r.id]) AND o.task_id = r.task_id
        AND (SELECT count(*) FROM mine) >= 0
    RETURNING o.task_id, o.id, o.fence, o.noted::integer AS noted
), e AS MATERIALIZED (
    SELECT r.*, gone.noted, mine.id IS NOT NULL AS there,
        (mine.status = 'RUNNING' AND mine.fence = gone.fence) IS NOT TRUE AS late
    FROM gone JOIN r ON r.id = gone.id
    LEFT JOIN mine ON mine.id = gone.task_id
), ended AS (
    UPDATE calls AS c SET {", ".join(f"{name} = e.{name}" for name in ENDED if name != "message")},
        message = CASE WHEN e.there THEN e.message ELSE '' END, late = e.late, ended_at = n.ms,
        redacted = c.redacted OR e.redacted
    FROM e, n WHERE c.id = ANY(ARRAY[e.id])
    RETURNING c.*, e.noted
), counted AS ({
    _SUMMED.format(sums=DELTAS.format(noted="c.noted", int="::integer"), calls="ended AS c")
}), progressed AS (
    UPDATE tasks AS t SET saved_fence = t.fence, lost_claims = 0, waits = 0
    WHERE t.id = ANY(ARRAY(SELECT task_id FROM e WHERE state = 'RESULT' AND NOT late))
), bodies AS (
    INSERT INTO call_bodies (task_id, call_id, part, redacted, body, blob)
    SELECT task_id, id, '{ANSWER}', redacted, body, blob FROM e
    WHERE there AND answer_sha256 IS NOT NULL
), kept AS (
    UPDATE blobs SET kept = true
    WHERE key = ANY(ARRAY(SELECT blob FROM e WHERE there AND blob IS NOT NULL))
)
SELECT n.ms, x.no FROM n LEFT JOIN (
    SELECT r.no FROM r WHERE (SELECT c.id FROM calls AS c
        WHERE c.id = r.id AND c.task_id = r.task_id) IS NULL) AS x ON true"""

_REJECT: Final = f"""
WITH done AS (
    UPDATE calls SET state = 'REJECTED', kind = '{FailureKind.BAD_OUTPUT}', message = $3
    WHERE id = ANY(ARRAY[$2::uuid]) AND task_id = $1::uuid AND state = 'RESULT' RETURNING *
), counted AS ({ADD} SELECT {DAY_KEY}, {SPOILT} FROM done AS c {ADDED})
SELECT EXISTS (SELECT FROM calls WHERE id = ANY(ARRAY[$2::uuid]) AND task_id = $1::uuid)"""

_NOTE: Final = f"""
WITH found AS MATERIALIZED (
    SELECT o.id FROM open_calls AS o WHERE NOT o.noted AND {lost("o")}
    LIMIT $1::bigint FOR UPDATE OF o SKIP LOCKED
), marked AS (
    UPDATE open_calls SET noted = true WHERE id = ANY(ARRAY(SELECT id FROM found)) RETURNING id
), noted AS MATERIALIZED (
    SELECT c.* FROM calls AS c WHERE c.id = ANY(ARRAY(SELECT id FROM marked))
), counted AS ({_SUMMED.format(sums=NOTED, calls="noted AS c")})
SELECT count(*) FROM marked"""

_WAIVE: Final = "UPDATE calls SET waived = true WHERE NOT waived AND task_id = ANY($1::uuid[])"
_DROP: Final = """
UPDATE calls SET dropped = true
WHERE task_id = $1::uuid AND (steps, id) >= ($2::integer, $3::uuid)"""
_GONE: Final = "SELECT path FROM steps WHERE task_id = $1::uuid AND n > $2::integer"
_LEFT: Final = "SELECT id, path FROM calls WHERE task_id = $1::uuid AND NOT dropped"
_DROP_THESE: Final = """
UPDATE calls SET dropped = true WHERE id = ANY($1::uuid[])"""


class Begin(NamedTuple):
    """An intent under its lease."""

    lease: Lease
    call: NewCall


class End(NamedTuple):
    """The end of a task's call."""

    task_id: str
    call_id: str
    end: CallEnd


Answer = StagepostError | None


def write(writes: list[Begin | End]) -> Work[list[Answer]]:
    """Write a batch; answers None where it was done."""

    async def work(tx: Transaction) -> list[Answer]:
        begins = [(no, each) for no, each in enumerate(writes) if isinstance(each, Begin)]
        ends = [(no, each) for no, each in enumerate(writes) if isinstance(each, End)]
        if not (begins and ends):
            answers = await _begin(tx, begins) if begins else await _end(tx, ends)
        else:
            async with tx.connection.transaction():
                answers = await _begin(tx, begins) | await _end(tx, ends)
        return [answers[no] for no in range(len(writes))]

    return work


async def _begin(tx: Transaction, writes: Sequence[tuple[int, Begin]]) -> dict[int, Answer]:
    answers: dict[int, Answer] = {no: lease_lost(each.lease.task_id) for no, each in writes}
    ours = [(no, each) for no, each in writes if sound(each.lease)]
    if not ours:
        return answers
    # In the order of their tasks, so that two batches with the same ones don't lock crosswise.
    ours.sort(key=lambda item: item[1].lease.task_id)
    rows = [
        (*_key(lease), *begun_values(call), call.request.text, call.request.blob)
        for _, (lease, call) in ours
    ]
    for row_no, same, asked in await _fetch(tx, _BEGIN, rows):
        no, each = ours[row_no - 1]
        answers[no] = None
        if same is False:
            answers[no] = call_taken(each.call.id)
        elif same is None and asked:
            answers[no] = cancel_asked(each.lease.task_id)
    return answers


def _key(lease: Lease) -> tuple[str, int, str]:
    return (lease.task_id, lease.fence, lease.lease_id)


async def _end(tx: Transaction, writes: Sequence[tuple[int, End]]) -> dict[int, Answer]:
    answers: dict[int, Answer] = {no: absent(each.call_id) for no, each in writes}
    ours = [(no, each) for no, each in writes if known(each.task_id) and known(each.call_id)]
    if not ours:
        return answers
    # The first of several ends of one call; the statement would take any.
    firsts: dict[tuple[str, str], CallEnd] = {}
    for _, (task_id, call_id, end) in ours:
        firsts.setdefault((task_id, call_id), end)
    missing = await _fetch(tx, _END, [_end_row(*key, end) for key, end in firsts.items()])
    keys = list(firsts)
    gone = {keys[row_no - 1] for (row_no,) in missing}
    return answers | {no: None for no, each in ours if each[:2] not in gone}


def _end_row(task_id: str, call_id: str, end: CallEnd) -> tuple[Any, ...]:
    answer = end.answer
    body = (False, None, None) if answer is None else (answer.redacted, answer.text, answer.blob)
    return (task_id, call_id, *end_values(end), *body)


async def _fetch(tx: Transaction, statement: str, rows: list[tuple[Any, ...]]) -> list[Any]:
    """What it answers behind the instant; a row of nothing stands for nothing."""
    columns = map(list, zip(*rows, strict=True))
    found = await tx.connection.fetch(statement, tx.moment.last, *columns)
    tx.moment.saw(found[0][0])
    return [tuple(row)[1:] for row in found if row[1] is not None]


async def reject(tx: Transaction, task_id: str, call_id: str, why: str) -> None:
    """An answer can't be used after all. Raises NotFound."""
    if not await tx.connection.fetchval(_REJECT, task_id, call_id, spoilt_message(why)):
        raise absent(call_id)


async def note_unknown(tx: Transaction, limit: int) -> int:
    """Calls that are UNKNOWN, into the usage."""
    return int(await tx.connection.fetchval(_NOTE, limit))


async def redriven(tx: Transaction, task_id: str, resume: Resume, cut: Cut) -> None:
    """A person has sent the task back, which is locked; its steps are still as they were.

    What came behind the cut is replayed no more, nor is what the dropped steps have sent before.
    """
    await waive(tx, [task_id])
    if resume == Resume():
        return
    await tx.connection.execute(_DROP, task_id, *cut)
    if cut.steps < 0:
        return
    gone = await tx.connection.fetch(_GONE, task_id, cut.steps)
    steps = frozenset(row[0] for row in gone)
    left = await tx.connection.fetch(_LEFT, task_id)
    under = [row[0] for row in left if lies_under(row[1], steps)]
    await tx.connection.execute(_DROP_THESE, under)


async def waive(tx: Transaction, task_ids: Iterable[str]) -> None:
    """A person has sent these tasks back."""
    await tx.connection.execute(_WAIVE, list(task_ids))
