"""What is asked before a task is accepted: unique keys, and how many a tenant has waiting."""

from typing import Final

ACCEPTING: Final = """
-- The keys of the tasks that have one. A task that is over may go on to hold its key: it is taken
-- from it by whoever wants it next, so that no end of a task has to look here.
CREATE TABLE unique_keys (
    task_id uuid PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    holds boolean NOT NULL
);
CREATE UNIQUE INDEX unique_keys_held ON unique_keys (tenant, type, key) WHERE holds;
CREATE FUNCTION unique_keys_go() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM unique_keys WHERE task_id IN (SELECT id FROM gone);
    RETURN NULL;
END $$;
CREATE TRIGGER unique_keys_go_with_their_task AFTER DELETE ON tasks
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION unique_keys_go();

-- max_queued is NULL where a tenant may have any number.
CREATE TABLE tenant_quotas (tenant text COLLATE "C" PRIMARY KEY, max_queued bigint);

-- Of tenants with a quota: the tasks that had not started when they were looked at last.
CREATE TABLE backlog (
    tenant text COLLATE "C" NOT NULL,
    task_id uuid NOT NULL,
    PRIMARY KEY (tenant, task_id)
);
-- How many rows of it each has, and up to which they were looked at. Whoever adds to a tenant's
-- backlog has its row locked.
CREATE TABLE backlogs (
    tenant text COLLATE "C" PRIMARY KEY,
    waiting bigint NOT NULL,
    looked_up_to uuid NOT NULL
) WITH (fillfactor = 50);
"""
