"""The statements that write the rows of a no-op task in PostgreSQL: one for each transaction.

The tables and their indexes are the engine's own, and so are the rows: a test compares a finished
task of both, column by column.
"""

SUBMIT = """
WITH r AS (
    SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
        $7::integer[], $8::bigint[], $9::text[])
        AS r (id, tenant, "user", type, lane, input, max_attempts, ttl, trace_id)
), n AS MATERIALIZED (SELECT now_ms() AS ms), t AS (
    INSERT INTO tasks (id, tenant, "user", type, lane, status, created_at, deadline, ttl,
        max_attempts, run_at, pooled_at, seq, trace_id, input)
    SELECT id, tenant, "user", type, lane, 'QUEUED', ms, ms + ttl, ttl, max_attempts, ms, ms, 1,
        trace_id, input FROM r, n
), p AS (
    INSERT INTO pool (lane, tenant, type, score, task_id, deadline, pooled_at, hard)
    SELECT lane, tenant, type, ms, id, ms + ttl, ms, false FROM r, n
)
INSERT INTO events (task_id, seq, kind, data, at)
SELECT id, 1, 'queued', '{"reason":"submitted"}', ms FROM r, n
"""

CLAIM = """
WITH n AS MATERIALIZED (SELECT now_ms() AS ms), gone AS (
    DELETE FROM pool WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM pool WHERE lane = $1 AND tenant = $5 AND type = $6
        ORDER BY score, task_id LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING task_id
), started AS (
    UPDATE tasks SET status = 'RUNNING', fence = fence + 1, lease_id = $3, worker_id = $4,
        pooled_at = NULL, started_at = n.ms, seq = 2, code_version = 1
    FROM gone, n WHERE id = task_id AND status = 'QUEUED' RETURNING id, fence
), told AS (
    INSERT INTO events (task_id, seq, kind, data, at)
    SELECT id, 2, 'started', '{"attempt":1}', ms FROM started, n
)
SELECT id, fence FROM started
"""

FINISH = """
WITH n AS MATERIALIZED (SELECT now_ms() AS ms), done AS (
    UPDATE tasks SET status = 'COMPLETED', lease_id = NULL, worker_id = NULL, seq = 3,
        progress = 100, ended_at = n.ms, result = r.result, result_size = length(r.result)
    FROM unnest($1::uuid[], $2::integer[], $3::text[]) AS r (id, fence, result), n
    WHERE tasks.id = r.id AND tasks.fence = r.fence AND status = 'RUNNING'
    RETURNING tasks.id, started_at, trace_id
)
INSERT INTO events (task_id, seq, kind, data, at)
SELECT id, 3, 'completed', '{"progress":100,"model":null,"processingMs":' || (ms - started_at)
    || ',"traceId":"' || trace_id || '"}', ms FROM done, n
"""
