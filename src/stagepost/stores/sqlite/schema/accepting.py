"""What is asked before a task is accepted: unique keys, and how many a tenant has waiting."""

from typing import Final

ACCEPTING: Final = """
-- The keys of the tasks that have one. A task that is over may go on to hold its key: it is taken
-- from it by whoever wants it next, so that no end of a task has to look here.
CREATE TABLE unique_keys (
    task_id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    type TEXT NOT NULL,
    key TEXT NOT NULL,
    holds INTEGER NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX unique_keys_held ON unique_keys (tenant, type, key) WHERE holds = 1;
CREATE TRIGGER unique_keys_go_with_their_task AFTER DELETE ON tasks BEGIN
    DELETE FROM unique_keys WHERE task_id = OLD.id;
END;

-- max_queued is NULL where a tenant may have any number.
CREATE TABLE tenant_quotas (tenant TEXT PRIMARY KEY, max_queued INTEGER) WITHOUT ROWID;

-- Of tenants with a quota: the tasks that had not started when they were looked at last.
CREATE TABLE backlog (
    tenant TEXT NOT NULL,
    task_id TEXT NOT NULL,
    PRIMARY KEY (tenant, task_id)
) WITHOUT ROWID;
-- How many rows of it each has, and up to which they were looked at.
CREATE TABLE backlogs (
    tenant TEXT PRIMARY KEY,
    waiting INTEGER NOT NULL,
    looked_up_to TEXT NOT NULL
) WITHOUT ROWID;
"""
