"""Changes of many tasks at once."""

from typing import Final

MASS: Final = """
CREATE TABLE mass_changes (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    tenant TEXT,
    user TEXT,
    spec TEXT NOT NULL,
    state TEXT NOT NULL,
    matched INTEGER NOT NULL,
    sent INTEGER NOT NULL,
    completed INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    why TEXT,
    cursor TEXT NOT NULL,
    next_at INTEGER NOT NULL,
    recent TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    ended_at INTEGER,
    open INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX mass_changes_open ON mass_changes (id) WHERE open;

-- Redriven tasks that have not ended since.
CREATE TABLE mass_tasks (
    change_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    PRIMARY KEY (change_id, task_id)
) WITHOUT ROWID;
"""
