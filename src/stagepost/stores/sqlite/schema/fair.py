"""Fair shares: the pool by lane, tenant and type; the tenants' places; rules; keyed tasks."""

from typing import Final

FAIR: Final = """
-- What can be claimed, queue by queue. score = pooled_at - priority, in ms.
CREATE TABLE ready (
    lane TEXT NOT NULL,
    tenant TEXT NOT NULL,
    type TEXT NOT NULL,
    score INTEGER NOT NULL,
    task_id TEXT NOT NULL,
    deadline INTEGER NOT NULL,
    hard INTEGER NOT NULL,
    PRIMARY KEY (lane, tenant, type, score, task_id)
) WITHOUT ROWID;
INSERT INTO ready SELECT p.lane, t.tenant, p.type, p.score, p.task_id, p.deadline, p.hard
    FROM pool AS p JOIN tasks AS t ON t.id = p.task_id;
DROP TABLE pool;
ALTER TABLE ready RENAME TO pool;
CREATE INDEX pool_hard_deadlines ON pool (deadline) WHERE hard = 1;

-- How far each tenant has come in a lane, and at what cost so far; the latest turn of each lane.
CREATE TABLE turns (
    lane TEXT NOT NULL,
    tenant TEXT NOT NULL,
    place INTEGER NOT NULL,
    spent INTEGER NOT NULL,
    PRIMARY KEY (lane, tenant)
) WITHOUT ROWID;
CREATE INDEX turns_by_place ON turns (lane, place);
CREATE TABLE lane_turns (lane TEXT PRIMARY KEY, latest INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE rules (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    weight INTEGER,
    concurrency INTEGER,
    key_concurrency INTEGER NOT NULL,
    paused INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
) WITHOUT ROWID;

-- Tasks with a concurrency key that are QUEUED or RUNNING. Only one that holds its key (as many as
-- run at once) is in the pool or runs; the others are blocked, and wait here.
ALTER TABLE tasks ADD COLUMN concurrency_key TEXT;
CREATE TABLE keyed (
    tenant TEXT NOT NULL,
    key TEXT NOT NULL,
    holds INTEGER NOT NULL,
    score INTEGER NOT NULL,
    task_id TEXT NOT NULL UNIQUE,
    lane TEXT NOT NULL,
    deadline INTEGER NOT NULL,
    hard INTEGER NOT NULL,
    PRIMARY KEY (tenant, key, holds, score, task_id)
) WITHOUT ROWID;
CREATE INDEX keyed_blocked ON keyed (lane) WHERE holds = 0;
CREATE INDEX keyed_hard_deadlines ON keyed (deadline) WHERE holds = 0 AND hard = 1;
"""
