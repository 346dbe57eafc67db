"""The statements that write the rows of a no-op task: all that the limit knows of SQL.

The tables and their indexes are the engine's own, and so are the rows: a test compares a finished
task of both, column by column. Each statement takes a whole batch as one JSON array of arrays, so
that SQLite runs without the interpreter lock from its first row to its last.
"""

PRAGMAS = """
PRAGMA page_size = 4096;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA wal_autocheckpoint = 4000;
PRAGMA cache_size = -65536;
"""

# A row of a submit: id, tenant, user, type, lane, input, max_attempts, ttl in ms, trace id.
SUBMIT = (
    """
INSERT INTO tasks (id, tenant, user, type, lane, status, created_at, deadline, ttl, max_attempts,
    run_at, pooled_at, seq, trace_id, input)
SELECT value->>0, value->>1, value->>2, value->>3, value->>4, 'QUEUED', :now, :now + (value->>7),
    value->>7, value->>6, :now, :now, 1, value->>8, value->>5
FROM json_each(:rows)
""",
    """
INSERT INTO pool SELECT value->>4, value->>1, value->>3, :now, value->>0, :now + (value->>7), 0
FROM json_each(:rows)
""",
    """
INSERT INTO events SELECT value->>0, 1, 'queued', '{"reason":"submitted"}', :now
FROM json_each(:rows)
""",
)

# What can be claimed of a lane, tenant and type, as rows of: these, score, id.
READY = """
SELECT json_group_array(json_array(:lane, :tenant, :type, score, task_id))
FROM (SELECT score, task_id FROM pool WHERE lane = :lane AND tenant = :tenant AND type = :type
    ORDER BY score, task_id LIMIT :most)
"""

CLAIM = (
    """
DELETE FROM pool WHERE (lane, tenant, type, score, task_id) IN
    (SELECT value->>0, value->>1, value->>2, value->>3, value->>4 FROM json_each(:rows))
""",
    """
UPDATE tasks SET status = 'RUNNING', fence = fence + 1, lease_id = :lease, worker_id = :worker,
    pooled_at = NULL, started_at = :now, seq = 2, code_version = 1
FROM json_each(:rows) WHERE tasks.id = value->>4 AND status = 'QUEUED'
""",
    """
INSERT INTO events SELECT value->>4, 2, 'started', '{"attempt":1}', :now FROM json_each(:rows)
""",
)

# A row of a finish: id, fence, result, its length, trace id, when it was claimed.
FINISH = (
    """
UPDATE tasks SET status = 'COMPLETED', lease_id = NULL, worker_id = NULL, seq = 3,
    progress = 100, ended_at = :now, result = value->>2, result_size = value->>3
FROM json_each(:rows) WHERE tasks.id = value->>0 AND fence = value->>1 AND status = 'RUNNING'
""",
    """
INSERT INTO events SELECT value->>0, 3, 'completed',
    '{"progress":100,"model":null,"processingMs":' || (:now - (value->>5))
        || ',"traceId":"' || (value->>4) || '"}', :now
FROM json_each(:rows)
""",
)
