"""What a task waits for: its conditions, the waits that it has begun, and signals sent to it."""

from typing import Final

WAITS: Final = """
-- While it is WAITING; JSON.
ALTER TABLE tasks ADD COLUMN conditions text;

-- Each wait that a handler has begun and not ended: when it ends is fixed here, once. A sleep has
-- no name; approvers are JSON, or NULL where everybody may send the signal.
CREATE TABLE waits (
    task_id uuid NOT NULL,
    path text COLLATE "C" NOT NULL,
    name text COLLATE "C",
    until bigint,
    approvers text,
    begun_at bigint NOT NULL
);
-- A path may be longer than an index takes.
CREATE UNIQUE INDEX waits_by_path ON waits (task_id, md5(path));

-- Signals in the order of their sending; what a wait has taken leaves its body to that step.
CREATE TABLE signals (
    task_id uuid NOT NULL,
    n integer NOT NULL,
    id uuid NOT NULL,
    name text COLLATE "C" NOT NULL,
    body text NOT NULL,
    sender text NOT NULL,
    roles text NOT NULL,
    sent_at bigint NOT NULL,
    taken boolean NOT NULL DEFAULT false,
    PRIMARY KEY (task_id, n)
);
CREATE INDEX signals_waiting ON signals (task_id, n) WHERE NOT taken;
"""
