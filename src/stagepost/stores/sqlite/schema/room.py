"""What waits for room in its tenant's quota: the tasks of batches, and the runs of schedules."""

from typing import Final

ROOM: Final = """
-- Of tenants with a quota: how many tasks a batch, which is a task itself, has still to start.
CREATE TABLE backlog_batches (
    tenant TEXT NOT NULL,
    task_id TEXT NOT NULL,
    held INTEGER NOT NULL,
    PRIMARY KEY (tenant, task_id)
) WITHOUT ROWID;
-- The sum of them.
ALTER TABLE backlogs ADD COLUMN brought INTEGER NOT NULL DEFAULT 0;

-- Since when a run that could start is refused, and the refusal.
ALTER TABLE schedules ADD COLUMN held_at INTEGER;
ALTER TABLE schedules ADD COLUMN held_why TEXT;
"""
