"""The ledger of calls, and what was spent on them."""

from typing import Final

CALLS: Final = """
-- A call stays as long as its task, and then as long as the task's tombstone. UNKNOWN is no state
-- here: it is an INTENT whose claim does not own the task. What a provider has not told is NULL;
-- then the estimate counts.
CREATE TABLE calls (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    user TEXT NOT NULL,
    type TEXT NOT NULL,
    path TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    n INTEGER NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    steps INTEGER NOT NULL,              -- steps that the task had saved before
    state TEXT NOT NULL DEFAULT 'INTENT',
    will_input INTEGER NOT NULL,
    will_output INTEGER NOT NULL,
    will_cost INTEGER NOT NULL,
    input INTEGER,
    cached INTEGER,
    output INTEGER,
    reasoning INTEGER,
    cost INTEGER,
    took INTEGER,
    first_token INTEGER,
    provider_id TEXT,
    kind TEXT,
    message TEXT NOT NULL DEFAULT '',
    maybe_billed INTEGER NOT NULL DEFAULT 0,
    late INTEGER NOT NULL DEFAULT 0,
    waived INTEGER NOT NULL DEFAULT 0,   -- a person has sent the task back since
    dropped INTEGER NOT NULL DEFAULT 0,  -- and replays it no more
    redacted INTEGER NOT NULL,
    request_sha256 TEXT NOT NULL,
    request_size INTEGER NOT NULL,
    answer_sha256 TEXT,
    answer_size INTEGER,
    started_at INTEGER NOT NULL,
    ended_at INTEGER
) WITHOUT ROWID;
CREATE INDEX calls_by_task ON calls (task_id, id);
CREATE INDEX calls_by_step ON calls (task_id, path);

-- What they have sent and got; it goes with the task.
CREATE TABLE call_bodies (
    call_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    part TEXT NOT NULL,                  -- request or answer
    redacted INTEGER NOT NULL,
    body TEXT,
    blob TEXT,
    PRIMARY KEY (call_id, part)
) WITHOUT ROWID;
CREATE INDEX call_bodies_by_task ON call_bodies (task_id);

-- Those without an end. `noted`: it is UNKNOWN, and counted as that in the usage.
CREATE TABLE open_calls (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    type TEXT NOT NULL,
    fence INTEGER NOT NULL,
    noted INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX open_calls_by_tenant ON open_calls (tenant, id);
CREATE INDEX open_calls_new ON open_calls (task_id) WHERE NOT noted;

-- Sums over calls that have ended or are noted as UNKNOWN; `day` counts from 1970-01-01 UTC.
CREATE TABLE call_usage (
    tenant TEXT NOT NULL,
    day INTEGER NOT NULL,
    user TEXT NOT NULL,
    type TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    calls INTEGER NOT NULL,
    rejected INTEGER NOT NULL,
    refused INTEGER NOT NULL,
    unknown INTEGER NOT NULL,
    input INTEGER NOT NULL,
    cached INTEGER NOT NULL,
    output INTEGER NOT NULL,
    reasoning INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    unknown_cost INTEGER NOT NULL,
    PRIMARY KEY (tenant, day, user, type, provider, model)
) WITHOUT ROWID;
CREATE INDEX call_usage_by_day ON call_usage (day);

-- A provider's message may quote what it was asked.
CREATE TRIGGER call_messages_go_with_their_task AFTER DELETE ON tasks BEGIN
    UPDATE calls SET message = '' WHERE task_id = OLD.id AND message <> '';
END;
CREATE TRIGGER calls_go_with_their_tombstone AFTER DELETE ON tombstones BEGIN
    DELETE FROM open_calls WHERE id IN (SELECT id FROM calls WHERE task_id = OLD.task_id);
    DELETE FROM calls WHERE task_id = OLD.task_id;
END;
"""
