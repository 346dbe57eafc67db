"""Schedules and their runs."""

from typing import Final

SCHEDULES: Final = """
CREATE TABLE schedules (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    user TEXT NOT NULL,
    plan TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    anchor INTEGER NOT NULL,
    next_at INTEGER,
    due_at INTEGER,
    version INTEGER NOT NULL,
    waiting INTEGER NOT NULL DEFAULT 0,
    last_at INTEGER,
    last_task TEXT,
    skipped_at INTEGER,
    skipped_why TEXT,
    forgotten_at INTEGER
) WITHOUT ROWID;
CREATE INDEX schedules_by_tenant ON schedules (tenant, id);
CREATE INDEX schedules_due ON schedules (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX schedules_waiting ON schedules (id) WHERE waiting > 0;

-- A planned instant that was taken. It has no task while it waits; it is open until its task was
-- seen to be over.
CREATE TABLE schedule_runs (
    schedule_id TEXT NOT NULL,
    planned_at INTEGER NOT NULL,
    stream TEXT NOT NULL,
    task_id TEXT,
    open INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (schedule_id, planned_at)
) WITHOUT ROWID;
CREATE INDEX schedule_runs_open ON schedule_runs (schedule_id, stream, planned_at) WHERE open = 1;
"""
