"""The rows of a no-op task and the statements that write them: all that the limit knows of SQL.

Each statement takes a whole batch as one JSON array of arrays, so that SQLite runs without the
interpreter lock from its first row to its last.
"""

PRAGMAS = """
PRAGMA page_size = 4096;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA wal_autocheckpoint = 4000;
PRAGMA cache_size = -65536;
"""

SCHEMA = """
CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    user TEXT NOT NULL,
    type TEXT NOT NULL,
    lane TEXT NOT NULL,
    status TEXT NOT NULL,
    version INTEGER,
    priority INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    lease TEXT,
    worker TEXT,
    seq INTEGER NOT NULL,
    progress INTEGER NOT NULL,
    step TEXT,
    due_at INTEGER,
    deadline INTEGER,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    completed_at INTEGER,
    failure_kind TEXT,
    error_message TEXT,
    input TEXT NOT NULL,
    result TEXT
) WITHOUT ROWID;
CREATE INDEX tasks_by_tenant ON tasks (tenant, id);
CREATE INDEX tasks_by_worker ON tasks (worker) WHERE worker IS NOT NULL;
CREATE TABLE pool (
    lane TEXT NOT NULL,
    score INTEGER NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (lane, score, id)
) WITHOUT ROWID;
CREATE TABLE events (
    task_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL,
    data TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (task_id, seq)
) WITHOUT ROWID;
"""

# A row of a submit: id, tenant, user, type, lane, version, priority, max_attempts, deadline, input.
SUBMIT = (
    """
INSERT INTO tasks SELECT
    value->>0, value->>1, value->>2, value->>3, value->>4, 'QUEUED', value->>5, value->>6, 0,
    value->>7, 0, NULL, NULL, 1, 0, NULL, NULL, value->>8, :now, NULL, NULL, NULL, NULL,
    value->>9, NULL
FROM json_each(:rows)
""",
    """
INSERT INTO pool SELECT value->>4, :now - (value->>6), value->>0 FROM json_each(:rows)
""",
    """
INSERT INTO events SELECT value->>0, 1, 'queued', '{"reason":"submitted"}', :now
FROM json_each(:rows)
""",
)

# What can be claimed, as rows of: lane, score, id.
READY = """
SELECT json_group_array(json_array(lane, score, id))
FROM (SELECT lane, score, id FROM pool WHERE lane = :lane ORDER BY score, id LIMIT :most)
"""

CLAIM = (
    """
DELETE FROM pool WHERE (lane, score, id) IN
    (SELECT value->>0, value->>1, value->>2 FROM json_each(:rows))
""",
    """
UPDATE tasks SET status = 'RUNNING', attempt = attempt + 1, fence = fence + 1, lease = :lease,
    worker = :worker, seq = seq + 1, started_at = :now
FROM json_each(:rows) WHERE tasks.id = value->>2
""",
    """
INSERT INTO events SELECT value->>2, 2, 'started', '{"attempt":1}', :now FROM json_each(:rows)
""",
)

# A row of a finish: id, fence, result.
FINISH = (
    """
UPDATE tasks SET status = 'COMPLETED', lease = NULL, worker = NULL, seq = seq + 1,
    progress = 100, completed_at = :now, result = value->>2
FROM json_each(:rows) WHERE tasks.id = value->>0 AND fence = value->>1 AND status = 'RUNNING'
""",
    """
INSERT INTO events SELECT value->>0, 3, 'completed', '{"progress":100}', :now
FROM json_each(:rows)
""",
)

COUNTS = """
SELECT (SELECT count(*) FROM tasks WHERE status = 'COMPLETED' AND worker IS NULL),
       (SELECT count(*) FROM pool), (SELECT count(*) FROM events)
"""
