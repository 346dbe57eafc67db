"""The ledger of calls, and what was spent on them."""

from typing import Final

CALLS: Final = """
-- A call stays as long as its task, and then as long as the task's tombstone. UNKNOWN is no state
-- here: it is an INTENT whose claim does not own the task. What a provider has not told is NULL;
-- then the estimate counts. No column that changes is in an index.
CREATE TABLE calls (
    id uuid PRIMARY KEY,
    task_id uuid NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    "user" text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    path text COLLATE "C" NOT NULL,
    request_hash text COLLATE "C" NOT NULL,
    n bigint NOT NULL,
    provider text COLLATE "C" NOT NULL,
    model text COLLATE "C" NOT NULL,
    attempt integer NOT NULL,
    fence integer NOT NULL,
    steps integer NOT NULL,              -- steps that the task had saved before
    state text COLLATE "C" NOT NULL DEFAULT 'INTENT',
    will_input bigint NOT NULL,
    will_output bigint NOT NULL,
    will_cost bigint NOT NULL,
    input bigint,
    cached bigint,
    output bigint,
    reasoning bigint,
    cost bigint,
    took bigint,
    first_token bigint,
    provider_id text,
    kind text,
    message text NOT NULL DEFAULT '',
    maybe_billed boolean NOT NULL DEFAULT false,
    late boolean NOT NULL DEFAULT false,
    waived boolean NOT NULL DEFAULT false,   -- a person has sent the task back since
    dropped boolean NOT NULL DEFAULT false,  -- and replays it no more
    redacted boolean NOT NULL,
    request_sha256 text NOT NULL,
    request_size bigint NOT NULL,
    answer_sha256 text,
    answer_size bigint,
    started_at bigint NOT NULL,
    ended_at bigint
) WITH (fillfactor = 55);
CREATE INDEX calls_by_task ON calls (task_id, id);
-- A path may be longer than an index takes. Without a column of its own for the task: where most
-- tasks have few calls, the one above would be taken as well, for a task with ten thousand.
CREATE INDEX calls_by_step ON calls (md5(task_id::text || path));

-- What they have sent and got; it goes with the task.
CREATE TABLE call_bodies (
    call_id uuid NOT NULL,
    task_id uuid NOT NULL,
    part text COLLATE "C" NOT NULL,          -- request or answer
    redacted boolean NOT NULL,
    body text,
    blob text,
    PRIMARY KEY (call_id, part)
);
CREATE INDEX call_bodies_by_task ON call_bodies (task_id);
-- Also where code takes the task that knows of no calls. A provider's message may quote what it was
-- asked.
CREATE FUNCTION call_bodies_go() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT AS $$
BEGIN
    WITH bodies AS (
        DELETE FROM call_bodies WHERE task_id = ANY(ARRAY(SELECT id FROM gone)) RETURNING blob
    )
    UPDATE blobs SET kept = false, staged_at = now_ms()
    WHERE key = ANY(ARRAY(SELECT blob FROM bodies WHERE blob IS NOT NULL));
    UPDATE calls SET message = '' WHERE task_id = ANY(ARRAY(SELECT id FROM gone)) AND message <> '';
    RETURN NULL;
END $$;
CREATE TRIGGER call_bodies_go_with_their_task AFTER DELETE ON tasks
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION call_bodies_go();

-- Those without an end. `noted`: it is UNKNOWN, and counted as that in the usage.
CREATE TABLE open_calls (
    id uuid PRIMARY KEY,
    task_id uuid NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    fence integer NOT NULL,
    noted boolean NOT NULL DEFAULT false
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE INDEX open_calls_by_tenant ON open_calls (tenant, id);
CREATE INDEX open_calls_new ON open_calls (task_id) WHERE NOT noted;

-- Sums over calls that have ended or are noted as UNKNOWN; `day` counts from 1970-01-01 UTC.
CREATE TABLE call_usage (
    tenant text COLLATE "C" NOT NULL,
    day integer NOT NULL,
    "user" text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    provider text COLLATE "C" NOT NULL,
    model text COLLATE "C" NOT NULL,
    calls bigint NOT NULL,
    rejected bigint NOT NULL,
    refused bigint NOT NULL,
    unknown bigint NOT NULL,
    input bigint NOT NULL,
    cached bigint NOT NULL,
    output bigint NOT NULL,
    reasoning bigint NOT NULL,
    cost bigint NOT NULL,
    unknown_cost bigint NOT NULL,
    PRIMARY KEY (tenant, day, "user", type, provider, model)
) WITH (fillfactor = 50);
CREATE INDEX call_usage_by_day ON call_usage (day);

CREATE FUNCTION calls_go() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM open_calls WHERE id = ANY(ARRAY(
        SELECT id FROM calls WHERE task_id = ANY(ARRAY(SELECT task_id FROM gone))));
    DELETE FROM calls WHERE task_id = ANY(ARRAY(SELECT task_id FROM gone));
    RETURN NULL;
END $$;
CREATE TRIGGER calls_go_with_their_tombstone AFTER DELETE ON tombstones
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION calls_go();
"""
