"""Children: whose they are, and the batches in which they were started."""

from typing import Final

CHILDREN: Final = """
ALTER TABLE tasks ADD COLUMN parent_id TEXT;
ALTER TABLE tasks ADD COLUMN batch_id TEXT;
ALTER TABLE tasks ADD COLUMN place INTEGER;
CREATE UNIQUE INDEX tasks_of_batch ON tasks (batch_id, place) WHERE batch_id IS NOT NULL;

CREATE TABLE batches (
    id TEXT PRIMARY KEY,
    parent_id TEXT NOT NULL,
    path TEXT NOT NULL,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    detached INTEGER NOT NULL,
    dropped INTEGER NOT NULL DEFAULT 0,  -- the parent's seq when it began anew, else 0
    steps INTEGER NOT NULL,              -- steps that the parent had saved before
    made INTEGER NOT NULL DEFAULT 0,
    sealed INTEGER NOT NULL DEFAULT 0,
    left INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    digest TEXT NOT NULL,
    low INTEGER,
    high INTEGER,
    message TEXT NOT NULL DEFAULT '',
    noted_at INTEGER NOT NULL DEFAULT 0,
    owes INTEGER NOT NULL DEFAULT 0  -- whether the parent's progress is behind
) WITHOUT ROWID;
CREATE UNIQUE INDEX batches_of_parent ON batches (parent_id, path, dropped);
CREATE INDEX batches_open ON batches (id) WHERE left > 0;
CREATE INDEX batches_owing ON batches (noted_at) WHERE owes = 1;

-- Batches whose children are being cancelled, and how far that has come.
CREATE TABLE cancelling (
    batch_id TEXT PRIMARY KEY,
    request TEXT NOT NULL,
    place INTEGER NOT NULL DEFAULT -1
) WITHOUT ROWID;
"""
