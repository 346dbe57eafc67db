"""The end of every claim: what was chosen leaves the pool and is started."""

from typing import Final

MOST: Final = 512
"""Tasks of one claim; a worker with more free slots asks again, while these run."""

MOST_QUEUES: Final = 256
"""Queues of a lane that one statement looks at; where there are more, see `careful`."""

ID: Final = 7
"""The place of the id in what START answers."""

OWN_PLACE: Final = "t.status = 'QUEUED' AND t.pooled_at - t.priority::bigint * 1000 = {}"
"""Whether a row of the pool with this score is that of task `t`.

A task that leaves the pool while a claim holds its row leaves it to that claim (see `changes`),
which may have no use for it either. Such rows are strays; whoever meets one drops it.
"""

_FIELDS: Final = """fence, tenant, "user", type, lane, attempt, max_attempts, time_left, progress,
        step, saved_steps, lost_claims, waits, trace_id, seq, input, code_version, upload_bytes,
        age, concurrency_key"""
_NOTHING: Final = ", ".join(["NULL"] * (_FIELDS.count(",") - 1))
"""For what is late: it has no fields but its tenant."""

START: Final = f"""gone AS (
    -- What is late stays for its dead letter, but for the stray row of a task that has gone on.
    DELETE FROM pool WHERE ctid = ANY(ARRAY(
        SELECT place FROM chosen AS c, n WHERE deadline > n.ms OR NOT EXISTS (
            SELECT 1 FROM tasks AS t WHERE t.id = c.task_id AND {OWN_PLACE.format("c.score")})))
    RETURNING task_id, lane, score
), started AS (
    UPDATE tasks AS t SET status = 'RUNNING', fence = t.fence + 1, lease_id = $3::uuid,
        worker_id = $2::uuid, pooled_at = NULL, started_at = coalesce(t.started_at, n.ms),
        seq = t.seq + 1, code_version = coalesce(nullif(t.code_version, 0),
            ($10::integer[])[array_position($9::text[], t.type)])
    FROM gone, n WHERE t.id = gone.task_id AND {OWN_PLACE.format("gone.score")}
    RETURNING gone.lane AS from_lane, gone.score, t.id, t.fence, t.tenant, t."user", t.type, t.lane,
        t.attempt, t.max_attempts, t.deadline - n.ms AS time_left, t.progress, t.step,
        t.saved_steps, t.lost_claims, t.waits, t.trace_id, t.seq, t.input,
        t.code_version, t.upload_bytes, n.ms - t.started_at AS age, t.concurrency_key
), told AS (
    INSERT INTO events (task_id, seq, kind, data, at)
    SELECT id, seq, 'started', '{{"attempt":' || attempt || '}}', n.ms FROM started, n
), noted AS (
    INSERT INTO claims (lease_id, worker_id, tasks)
    SELECT $3::uuid, $2::uuid, array_agg(id) FROM started HAVING count(*) > 0
), found AS (
    -- The id as text, which is what it is made into.
    SELECT false AS late, from_lane, score, id::text AS id, {_FIELDS} FROM started UNION ALL
    SELECT true, lane, score, task_id::text, NULL, tenant, {_NOTHING} FROM chosen, n
    WHERE deadline <= n.ms
)
SELECT n.ms, (SELECT count(*) FROM chosen) AS chosen, %s, found.*
FROM n LEFT JOIN found ON true ORDER BY found.score, found.id"""
"""Starts what is `chosen`; what is neither started nor late had left the pool, and is passed over.

Answers the instant, how many were chosen, two more columns, and for each whether it is late, its
lane and score, the fields of Claimed but the lease, and the concurrency key.
"""
