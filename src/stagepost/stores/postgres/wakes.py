"""Tasks whose wait ends with time, in bulk: what `lifecycle.woken` does to each, in one statement.

A hundred thousand may sleep until the same minute, and one row at a time they would be late. Those
with an explicit deadline, which may have passed, or with a concurrency key, for which they line up,
go the lifecycle's way like everything else.
"""

from typing import Final

from stagepost.stores.postgres.rows import MS
from stagepost.stores.postgres.transaction import Transaction

_WAKE: Final = f"""
WITH n AS MATERIALIZED (SELECT {MS} AS ms), due AS MATERIALIZED (
    -- Locked rows are passed over: whoever holds one is about to change it.
    SELECT t.id FROM tasks AS t
    WHERE t.due_at IS NOT NULL AND t.due_at <= (SELECT ms FROM n)
    ORDER BY t.due_at LIMIT $2::integer FOR UPDATE OF t SKIP LOCKED
), woken AS (
    UPDATE tasks AS t SET status = 'QUEUED', pooled_at = n.ms, due_at = NULL, seq = t.seq + 1,
        deadline = t.deadline + n.ms - t.waiting_since, waiting_since = NULL, wait = NULL,
        conditions = NULL
    FROM due, n WHERE t.id = due.id AND t.status = 'WAITING' AND NOT t.hard_deadline
        AND t.concurrency_key IS NULL
    RETURNING t.id, t.seq, t.tenant, t.type, t.lane, t.priority, t.deadline
), told AS (
    INSERT INTO events (task_id, seq, kind, data, at)
    SELECT id, seq, 'queued', '{{"reason":"woken"}}', n.ms FROM woken, n
), pooled AS (
    INSERT INTO pool (lane, tenant, type, score, task_id, deadline, pooled_at, hard)
    SELECT lane, tenant, type, n.ms - priority::bigint * 1000, id, deadline, n.ms, false
    FROM woken, n
)
SELECT n.ms, woken.id, woken.type, woken.lane FROM n LEFT JOIN woken ON true"""


async def wake(tx: Transaction, limit: int) -> int:
    """Wake those that may simply go on, of so many that are due; answers how many."""
    found = await tx.connection.fetch(_WAKE, tx.moment.last, limit)
    tx.moment.saw(found[0][0])
    woken = [row for row in found if row[1] is not None]
    tx.events += [str(row[1]) for row in woken]
    tx.count("queued", [(row[2], row[3]) for row in woken])
    tx.pooled.update(row[3] for row in woken)
    return len(woken)
