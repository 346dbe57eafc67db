"""What waits for room in its tenant's quota: the tasks of batches, and the runs of schedules."""

from typing import Final

ROOM: Final = """
-- Of tenants with a quota: how many tasks a batch, which is a task itself, has still to start.
CREATE TABLE backlog_batches (
    tenant text COLLATE "C" NOT NULL,
    task_id uuid NOT NULL,
    held bigint NOT NULL,
    PRIMARY KEY (tenant, task_id)
);
-- The sum of them. Not in `waiting`: code that knows nothing of it corrects that by `backlog`.
ALTER TABLE backlogs ADD COLUMN brought bigint NOT NULL DEFAULT 0;

-- Since when a run that could start is refused, and the refusal.
ALTER TABLE schedules ADD COLUMN held_at bigint;
ALTER TABLE schedules ADD COLUMN held_why text;
"""
