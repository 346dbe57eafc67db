"""Progress and checkpoints: one statement for all of a batch."""

from typing import Any, Final

from stagepost.event import StepSaved
from stagepost.stores.postgres.fenced import Answer, Numbered, Write, sound
from stagepost.stores.postgres.rows import MS, Idle, mended
from stagepost.stores.postgres.transaction import Transaction
from stagepost.stores.rows import json
from stagepost.stores.wording import lease_lost, saved_already
from stagepost.task import Lease

_SAVE: Final = f"""
WITH n AS MATERIALIZED (SELECT {MS} AS ms), r AS MATERIALIZED (
    SELECT * FROM unnest($2::uuid[], $3::integer[], $4::uuid[], $5::integer[], $6::text[],
        $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::bigint[], $13::text[],
        $14::bigint[], $15::text[]) WITH ORDINALITY
        AS r (id, fence, lease_id, percent, message, label, path, name, input_hash, value, size,
            blob, took, data, no)
), owned AS MATERIALIZED (
    SELECT r.*, t.seq, t.progress, t.saved_steps, t.attempt
    FROM r JOIN tasks AS t ON t.id = r.id AND t.fence = r.fence AND t.lease_id = r.lease_id
    WHERE t.status = 'RUNNING' ORDER BY t.id FOR UPDATE OF t
), w AS MATERIALIZED (
    SELECT owned.*, path IS NOT NULL AND (
        row_number() OVER (PARTITION BY id, path ORDER BY no) > 1 OR EXISTS (
            SELECT 1 FROM steps AS s WHERE s.task_id = owned.id
                AND md5(s.path) = md5(owned.path) AND s.path = owned.path)) AS taken
    FROM owned
), k AS MATERIALIZED (
    -- `upto` counts a task's new events up to this row, `nth` its new steps.
    SELECT w.*, sum((percent IS NOT NULL)::integer + (path IS NOT NULL)::integer) OVER q AS upto,
        count(path) OVER q AS nth,
        greatest(progress, max(least(99, percent)) FILTER (WHERE percent IS NOT NULL) OVER q)
            AS reached
    FROM w WHERE NOT taken WINDOW q AS (PARTITION BY id ORDER BY no)
), noted AS (
    INSERT INTO events (task_id, seq, kind, data, at)
    SELECT id, seq + upto - (path IS NOT NULL)::integer, 'progress',
        '{{"progress":' || reached || ',' || message, n.ms
    FROM k, n WHERE percent IS NOT NULL
), told AS (
    INSERT INTO events (task_id, seq, kind, data, at)
    SELECT id, seq + upto, 'step', data, n.ms FROM k, n WHERE path IS NOT NULL
), saved AS (
    INSERT INTO steps (task_id, path, n, name, input_hash, value, size, blob, attempt, fence,
        started_at, completed_at)
    SELECT id, path, saved_steps + nth, name, input_hash, value, size, blob, attempt, fence,
        n.ms - took, n.ms
    FROM k, n WHERE path IS NOT NULL
), kept AS (
    UPDATE blobs SET kept = true WHERE key = ANY(ARRAY(SELECT blob FROM k WHERE blob IS NOT NULL))
), changed AS (
    UPDATE tasks SET seq = tasks.seq + s.told, progress = s.reached,
        step = coalesce(s.label, tasks.step), saved_steps = tasks.saved_steps + s.saved,
        saved_fence = CASE WHEN s.saved > 0 THEN tasks.fence ELSE tasks.saved_fence END,
        lost_claims = CASE WHEN s.saved > 0 THEN 0 ELSE tasks.lost_claims END,
        waits = CASE WHEN s.saved > 0 THEN 0 ELSE tasks.waits END
    FROM (SELECT id, max(upto) AS told, count(path) AS saved, max(reached) AS reached,
            (array_agg(label ORDER BY no DESC) FILTER (WHERE label IS NOT NULL))[1] AS label
        FROM k GROUP BY id) AS s
    WHERE tasks.id = s.id
)
SELECT n.ms, w.no, w.taken FROM n LEFT JOIN w ON true"""
IDLE: Final[Idle] = (_SAVE, (0, *[[]] * 14))
"""Nothing to save; see `warming`."""

_STEPS: Final = """
SELECT s.task_id, s.path, s.fence, s.value, s.blob
FROM unnest($1::uuid[], $2::text[]) AS r (id, path)
JOIN steps AS s ON s.task_id = r.id AND md5(s.path) = md5(r.path) AND s.path = r.path"""


async def save(tx: Transaction, writes: Numbered) -> dict[int, Answer]:
    """Write progress and checkpoints, by their numbers."""
    ours = [(number, each) for number, each in writes if sound(each.lease)]
    answers: dict[int, Answer] = {number: lease_lost(each.lease.task_id) for number, each in writes}
    if not ours:
        return answers
    rows = [_row(each) for _, each in ours]
    found = await tx.connection.fetch(_SAVE, tx.moment.last, *map(list, zip(*rows, strict=True)))
    tx.moment.saw(found[0][0])
    for _, no, taken in found:
        if no is None:
            break
        number, each = ours[no - 1]
        answers[number] = saved_already(each.what.path) if taken else None
        if not taken:
            tx.events += [each.lease.task_id] * _facts(each)
    if tx.again:
        await _recognise(tx, ours, answers)
    return answers


def _facts(each: Write) -> int:
    return (each.note is not None) + (each.what is not None)


def _row(each: Write) -> tuple[Any, ...]:
    note, step = each.note, each.what
    told: tuple[Any, ...] = (None, None, None)
    if note is not None:
        # A message for people is mended rather than refused: it must not cost the task its result.
        message, name = mended(note.message), note.step and mended(note.step)
        data = json({"message": message, "step": name})
        told = (int(note.percent), data[1:], message or name or None)
    if step is None:
        return (*_key(each.lease), *told, *[None] * 8)
    path, name, input_hash, value, took = step
    fact = json(StepSaved(name, path).data())
    return (*_key(each.lease), *told, path, name, input_hash, *value, took, fact)


def _key(lease: Lease) -> tuple[str, int, str]:
    return (lease.task_id, lease.fence, lease.lease_id)


async def _recognise(tx: Transaction, writes: Numbered, answers: dict[int, Answer]) -> None:
    """A checkpoint that an earlier try has saved, whose answer was lost, is no conflict."""
    doubtful = [(n, each) for n, each in writes if answers[n] is not None and each.what is not None]
    if not doubtful:
        return
    ids = [each.lease.task_id for _, each in doubtful]
    found = await tx.connection.fetch(_STEPS, ids, [each.what.path for _, each in doubtful])
    there = {(str(row[0]), row[1]): tuple(row[2:]) for row in found}
    for number, each in doubtful:
        value = each.what.value
        mine = (each.lease.fence, value.text, value.blob)
        if there.get((each.lease.task_id, each.what.path)) == mine:
            answers[number] = None
            tx.events += [each.lease.task_id] * _facts(each)
