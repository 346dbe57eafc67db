"""Children: whose they are, and the batches in which they were started."""

from typing import Final

CHILDREN: Final = """
ALTER TABLE tasks ADD COLUMN parent_id uuid, ADD COLUMN batch_id uuid, ADD COLUMN place integer;
-- None of them changes in a task's life, so that no change of a task touches the index.
CREATE UNIQUE INDEX tasks_of_batch ON tasks (batch_id, place) WHERE batch_id IS NOT NULL;

CREATE TABLE batches (
    id uuid PRIMARY KEY,
    parent_id uuid NOT NULL,
    path text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    attempts integer NOT NULL,
    detached boolean NOT NULL,
    dropped integer NOT NULL DEFAULT 0,  -- the parent's seq when it began anew, else 0
    steps integer NOT NULL,              -- steps that the parent had saved before
    made integer NOT NULL DEFAULT 0,
    sealed boolean NOT NULL DEFAULT false,
    "left" integer NOT NULL DEFAULT 0,
    failed integer NOT NULL DEFAULT 0,
    digest text NOT NULL,
    low integer,
    high integer,
    message text NOT NULL DEFAULT '',
    noted_at bigint NOT NULL DEFAULT 0,
    owes boolean NOT NULL DEFAULT false  -- whether the parent's progress is behind
) WITH (fillfactor = 70);
-- A path may be longer than an index takes.
CREATE UNIQUE INDEX batches_of_parent ON batches (parent_id, md5(path), dropped);
CREATE INDEX batches_owing ON batches (noted_at) WHERE owes;

-- What has become of children, until their batches know of it: notes without an order and without
-- a key, so that no child ever waits for a brother, nor for its parent.
CREATE TABLE wakes (
    batch_id uuid NOT NULL,
    "left" integer NOT NULL,
    failed integer NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Batches whose children are being cancelled, and how far that has come.
CREATE TABLE cancelling (
    batch_id uuid PRIMARY KEY,
    request text NOT NULL,
    place integer NOT NULL DEFAULT -1
);
"""
