"""Schedules and their runs."""

from typing import Final

SCHEDULES: Final = """
CREATE TABLE schedules (
    id uuid PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    "user" text COLLATE "C" NOT NULL,
    plan text NOT NULL,
    created_at bigint NOT NULL,
    anchor bigint NOT NULL,
    next_at bigint,
    due_at bigint,
    version bigint NOT NULL,
    waiting integer NOT NULL DEFAULT 0,
    last_at bigint,
    last_task uuid,
    skipped_at bigint,
    skipped_why text,
    forgotten_at bigint
);
CREATE INDEX schedules_by_tenant ON schedules (tenant, id);
CREATE INDEX schedules_due ON schedules (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX schedules_waiting ON schedules (id) WHERE waiting > 0;

-- A planned instant that was taken. It has no task while it waits; it is open until its task was
-- seen to be over.
CREATE TABLE schedule_runs (
    schedule_id uuid NOT NULL,
    planned_at bigint NOT NULL,
    stream text NOT NULL,
    task_id uuid,
    open boolean NOT NULL DEFAULT true,
    PRIMARY KEY (schedule_id, planned_at)
);
CREATE INDEX schedule_runs_open ON schedule_runs (schedule_id, stream, planned_at) WHERE open;
"""
