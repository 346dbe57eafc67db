"""Changes of many tasks at once."""

from typing import Final

MASS: Final = """
CREATE TABLE mass_changes (
    id uuid PRIMARY KEY,
    kind text NOT NULL,
    tenant text COLLATE "C",
    "user" text COLLATE "C",
    spec text NOT NULL,
    state text NOT NULL,
    matched bigint NOT NULL,
    sent bigint NOT NULL,
    completed bigint NOT NULL,
    failed bigint NOT NULL,
    why text,
    cursor text COLLATE "C" NOT NULL,
    next_at bigint NOT NULL,
    recent text NOT NULL,
    created_at bigint NOT NULL,
    ended_at bigint,
    open boolean NOT NULL
);
CREATE INDEX mass_changes_open ON mass_changes (id) WHERE open;

-- Redriven tasks that have not ended since.
CREATE TABLE mass_tasks (
    change_id uuid NOT NULL,
    task_id uuid NOT NULL,
    PRIMARY KEY (change_id, task_id)
);
"""
