"""What a task waits for: its conditions, the waits that it has begun, and signals sent to it."""

from typing import Final

WAITS: Final = """
-- While it is WAITING; JSON.
ALTER TABLE tasks ADD COLUMN conditions TEXT;

-- Each wait that a handler has begun and not ended: when it ends is fixed here, once. A sleep has
-- no name; approvers are JSON, or NULL where everybody may send the signal.
CREATE TABLE waits (
    task_id TEXT NOT NULL,
    path TEXT NOT NULL,
    name TEXT,
    until INTEGER,
    approvers TEXT,
    begun_at INTEGER NOT NULL,
    PRIMARY KEY (task_id, path)
) WITHOUT ROWID;

-- Signals in the order of their sending; what a wait has taken leaves its body to that step.
CREATE TABLE signals (
    task_id TEXT NOT NULL,
    n INTEGER NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    sender TEXT NOT NULL,
    roles TEXT NOT NULL,
    sent_at INTEGER NOT NULL,
    taken INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (task_id, n)
) WITHOUT ROWID;
CREATE INDEX signals_waiting ON signals (task_id, n) WHERE taken = 0;
"""
