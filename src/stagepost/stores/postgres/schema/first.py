"""Version 1: tasks, their pool, history and files, workers and keys."""

from typing import Final

FIRST: Final = """
-- The store's time: milliseconds since 1970-01-01 UTC. Nothing else here reads a clock.
CREATE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
    $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

CREATE TABLE tasks (
    id uuid PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    "user" text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    lane text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    deadline bigint NOT NULL,
    hard_deadline boolean NOT NULL DEFAULT false,
    ttl bigint NOT NULL,
    max_attempts integer NOT NULL,
    attempt integer NOT NULL DEFAULT 1,
    priority integer NOT NULL DEFAULT 0,
    run_at bigint NOT NULL,
    due_at bigint,
    pooled_at bigint,
    fence integer NOT NULL DEFAULT 0,
    lease_id uuid,
    worker_id uuid,
    seq integer NOT NULL DEFAULT 0,
    progress integer NOT NULL DEFAULT 0,
    step text,
    saved_steps integer NOT NULL DEFAULT 0,
    saved_fence integer NOT NULL DEFAULT 0,
    lost_claims integer NOT NULL DEFAULT 0,
    waits integer NOT NULL DEFAULT 0,
    wait text,
    waiting_since bigint,
    cancel text,
    failure_kind text COLLATE "C",
    error_message text,
    started_at bigint,
    ended_at bigint,
    upload_bytes bigint NOT NULL DEFAULT 0,
    trace_id text NOT NULL DEFAULT '',
    tagged boolean NOT NULL DEFAULT false,
    -- The status DEAD_LETTER; an index on the status itself would be paid for by every change.
    dead boolean NOT NULL DEFAULT false,
    result text,
    result_size bigint,
    result_blob text,
    input text
) WITH (fillfactor = 45);
CREATE INDEX tasks_by_tenant ON tasks (tenant, id);
CREATE INDEX tasks_due ON tasks (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX tasks_dead ON tasks (tenant, id) WHERE dead;

-- What can be claimed. score = pooled_at - priority, in ms. A row that was left behind by a task
-- which is not QUEUED any more does no harm: a claim drops it.
CREATE TABLE pool (
    lane text COLLATE "C" NOT NULL,
    score bigint NOT NULL,
    task_id uuid NOT NULL,
    type text COLLATE "C" NOT NULL,
    deadline bigint NOT NULL,
    pooled_at bigint NOT NULL,
    hard boolean NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE INDEX pool_order ON pool (lane, score, task_id);
CREATE INDEX pool_hard_deadlines ON pool (deadline) WHERE hard;

-- What each call of claim took, until all of it has ended.
CREATE TABLE claims (
    lease_id uuid PRIMARY KEY,
    worker_id uuid NOT NULL,
    tasks uuid[] NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE INDEX claims_by_worker ON claims (worker_id);

CREATE TABLE events (
    task_id uuid NOT NULL,
    seq integer NOT NULL,
    kind text NOT NULL,
    data text NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (task_id, seq)
);

CREATE TABLE steps (
    task_id uuid NOT NULL,
    path text COLLATE "C" NOT NULL,
    n integer NOT NULL,          -- the order in which they were saved
    name text COLLATE "C" NOT NULL,
    input_hash text NOT NULL,
    value text,
    size bigint NOT NULL,
    blob text,
    attempt integer NOT NULL,
    fence integer NOT NULL,
    started_at bigint NOT NULL,
    completed_at bigint NOT NULL
);
-- A path may be longer than an index takes.
CREATE UNIQUE INDEX steps_by_path ON steps (task_id, md5(path));
CREATE INDEX steps_in_order ON steps (task_id, n);

CREATE TABLE failures (
    task_id uuid NOT NULL,
    fence integer NOT NULL,
    attempt integer NOT NULL,
    kind text NOT NULL,
    message text NOT NULL,
    trace text NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (task_id, fence)
);

CREATE TABLE tags (
    task_id uuid NOT NULL,
    tag text COLLATE "C" NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    PRIMARY KEY (task_id, tag)
);
CREATE INDEX tags_by_tenant ON tags (tenant, tag, task_id);

CREATE TABLE artifacts (
    task_id uuid NOT NULL,
    name text COLLATE "C" NOT NULL,
    media_type text NOT NULL,
    size bigint NOT NULL,
    sha256 text NOT NULL,
    blob text NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (task_id, name)
);

CREATE TABLE uploads (
    id text COLLATE "C" PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    task_id uuid,
    name text NOT NULL,
    media_type text NOT NULL,
    size bigint NOT NULL,
    sha256 text NOT NULL,
    created_at bigint NOT NULL
);
CREATE INDEX uploads_by_task ON uploads (task_id) WHERE task_id IS NOT NULL;

-- A blob is staged before its first byte is written and kept once something refers to it.
CREATE TABLE blobs (
    key text COLLATE "C" PRIMARY KEY,
    staged_at bigint NOT NULL,
    kept boolean NOT NULL DEFAULT false
);
CREATE INDEX blobs_unreferenced ON blobs (staged_at) WHERE NOT kept;

CREATE TABLE idempotency (
    tenant text COLLATE "C" NOT NULL,
    "user" text COLLATE "C" NOT NULL,
    scope text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    fingerprint text NOT NULL,
    task_id uuid NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (tenant, "user", scope, key)
);
CREATE INDEX idempotency_by_age ON idempotency (created_at);

CREATE TABLE workers (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    lanes text NOT NULL,
    types text NOT NULL,
    slots integer NOT NULL,
    version text NOT NULL,
    state text NOT NULL,
    started_at bigint NOT NULL,
    beat_at bigint NOT NULL
);

CREATE TABLE api_keys (
    id text COLLATE "C" PRIMARY KEY,
    hash text COLLATE "C" NOT NULL UNIQUE,
    name text NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    "user" text,
    roles text NOT NULL,
    created_at bigint NOT NULL,
    revoked_at bigint
);

-- Who leads one of the engine's loops, and until when.
CREATE TABLE leases (
    name text COLLATE "C" PRIMARY KEY,
    holder text NOT NULL,
    until bigint NOT NULL
);

CREATE TABLE meta (name text COLLATE "C" PRIMARY KEY, value text NOT NULL);
"""
