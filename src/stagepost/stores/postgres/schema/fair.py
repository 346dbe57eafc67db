"""Fair shares: the pool by lane, tenant and type; the tenants' places; rules; keyed tasks."""

from typing import Final

FAIR: Final = """
-- Ready tasks are read queue by queue: one for each lane, tenant and type.
ALTER TABLE pool ADD COLUMN tenant text COLLATE "C";
UPDATE pool SET tenant = t.tenant FROM tasks AS t WHERE t.id = pool.task_id;
DELETE FROM pool WHERE tenant IS NULL;
ALTER TABLE pool ALTER COLUMN tenant SET NOT NULL;
DROP INDEX pool_order;
CREATE INDEX pool_order ON pool (lane, tenant, type, score, task_id);

-- How far each tenant has come in a lane, and at what cost so far; the latest turn of each lane.
CREATE TABLE turns (
    lane text COLLATE "C" NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    place bigint NOT NULL,
    spent bigint NOT NULL,
    PRIMARY KEY (lane, tenant)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE INDEX turns_by_place ON turns (lane, place);
CREATE TABLE lane_turns (lane text COLLATE "C" PRIMARY KEY, latest bigint NOT NULL)
    WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

CREATE TABLE rules (
    kind text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    weight integer,
    concurrency integer,
    key_concurrency integer NOT NULL,
    paused boolean NOT NULL,
    PRIMARY KEY (kind, name)
);

-- Tasks with a concurrency key that are QUEUED or RUNNING. Only one that holds its key (as many as
-- run at once) is in the pool or runs; the others are blocked, and wait here.
ALTER TABLE tasks ADD COLUMN concurrency_key text COLLATE "C";
CREATE TABLE keyed (
    tenant text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    holds boolean NOT NULL,
    score bigint NOT NULL,
    task_id uuid PRIMARY KEY,
    lane text COLLATE "C" NOT NULL,
    deadline bigint NOT NULL,
    hard boolean NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE INDEX keyed_in_order ON keyed (tenant, key, holds, score, task_id);
CREATE INDEX keyed_blocked ON keyed (lane) WHERE NOT holds;
CREATE INDEX keyed_hard_deadlines ON keyed (deadline) WHERE NOT holds AND hard;
"""
