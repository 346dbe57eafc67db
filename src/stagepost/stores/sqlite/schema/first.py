"""Version 1: tasks, their pool, history and files, workers and keys."""

from typing import Final

FIRST: Final = """
CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    user TEXT NOT NULL,
    type TEXT NOT NULL,
    lane TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    deadline INTEGER NOT NULL,
    hard_deadline INTEGER NOT NULL DEFAULT 0,
    ttl INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 1,
    priority INTEGER NOT NULL DEFAULT 0,
    run_at INTEGER NOT NULL,
    due_at INTEGER,
    pooled_at INTEGER,
    fence INTEGER NOT NULL DEFAULT 0,
    lease_id TEXT,
    worker_id TEXT,
    seq INTEGER NOT NULL DEFAULT 0,
    progress INTEGER NOT NULL DEFAULT 0,
    step TEXT,
    saved_steps INTEGER NOT NULL DEFAULT 0,
    saved_fence INTEGER NOT NULL DEFAULT 0,
    lost_claims INTEGER NOT NULL DEFAULT 0,
    waits INTEGER NOT NULL DEFAULT 0,
    wait TEXT,
    waiting_since INTEGER,
    cancel TEXT,
    failure_kind TEXT,
    error_message TEXT,
    started_at INTEGER,
    ended_at INTEGER,
    upload_bytes INTEGER NOT NULL DEFAULT 0,
    trace_id TEXT NOT NULL DEFAULT '',
    tagged INTEGER NOT NULL DEFAULT 0,
    result TEXT,
    result_size INTEGER,
    result_blob TEXT,
    input TEXT
) WITHOUT ROWID;
CREATE INDEX tasks_by_tenant ON tasks (tenant, id);
CREATE INDEX tasks_by_worker ON tasks (worker_id) WHERE worker_id IS NOT NULL;
CREATE INDEX tasks_due ON tasks (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX tasks_dead ON tasks (tenant, id) WHERE status = 'DEAD_LETTER';

-- Inputs too large to be rewritten with every change of their task.
CREATE TABLE inputs (task_id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;

-- What can be claimed. score = pooled_at - priority, in ms.
CREATE TABLE pool (
    lane TEXT NOT NULL,
    score INTEGER NOT NULL,
    task_id TEXT NOT NULL,
    type TEXT NOT NULL,
    deadline INTEGER NOT NULL,
    hard INTEGER NOT NULL,
    PRIMARY KEY (lane, score, task_id)
) WITHOUT ROWID;
CREATE INDEX pool_hard_deadlines ON pool (deadline) WHERE hard = 1;

CREATE TABLE events (
    task_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL,
    data TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (task_id, seq)
) WITHOUT ROWID;

CREATE TABLE steps (
    task_id TEXT NOT NULL,
    path TEXT NOT NULL,
    n INTEGER NOT NULL,          -- the order in which they were saved
    name TEXT NOT NULL,
    input_hash TEXT NOT NULL,
    value TEXT,
    size INTEGER NOT NULL,
    blob TEXT,
    attempt INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    completed_at INTEGER NOT NULL,
    PRIMARY KEY (task_id, path)
) WITHOUT ROWID;

CREATE TABLE failures (
    task_id TEXT NOT NULL,
    fence INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    kind TEXT NOT NULL,
    message TEXT NOT NULL,
    trace TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (task_id, fence)
) WITHOUT ROWID;

CREATE TABLE tags (
    tenant TEXT NOT NULL,
    tag TEXT NOT NULL,
    task_id TEXT NOT NULL,
    PRIMARY KEY (tenant, tag, task_id)
) WITHOUT ROWID;
CREATE INDEX tags_by_task ON tags (task_id, tag);

CREATE TABLE artifacts (
    task_id TEXT NOT NULL,
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    blob TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (task_id, name)
) WITHOUT ROWID;

CREATE TABLE uploads (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    task_id TEXT,
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX uploads_by_task ON uploads (task_id) WHERE task_id IS NOT NULL;

-- A blob is staged before its first byte is written and kept once something refers to it.
CREATE TABLE blobs (
    key TEXT PRIMARY KEY,
    staged_at INTEGER NOT NULL,
    kept INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX blobs_unreferenced ON blobs (staged_at) WHERE kept = 0;

CREATE TABLE idempotency (
    tenant TEXT NOT NULL,
    user TEXT NOT NULL,
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    task_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, user, scope, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_by_age ON idempotency (created_at);

CREATE TABLE workers (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    lanes TEXT NOT NULL,
    types TEXT NOT NULL,
    slots INTEGER NOT NULL,
    version TEXT NOT NULL,
    state TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    beat_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE api_keys (
    id TEXT PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    tenant TEXT NOT NULL,
    user TEXT,
    roles TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) WITHOUT ROWID;

CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
