"""The seals of the ledger, and what waits for one."""

from typing import Final

SEALS: Final = """
-- What became true of calls and is not sealed yet; see stagepost.audit.entries.
CREATE TABLE unsealed (
    tenant text COLLATE "C" NOT NULL,
    call_id uuid NOT NULL,
    fact text COLLATE "C" NOT NULL
        CHECK (fact IN ('UNKNOWN', 'RESULT', 'REJECTED', 'REFUSED', 'GONE')),
    PRIMARY KEY (tenant, call_id, fact)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

CREATE TABLE seals (
    tenant text COLLATE "C" NOT NULL,
    n bigint NOT NULL,
    at bigint NOT NULL,
    first uuid NOT NULL,
    last uuid NOT NULL,
    entries bigint NOT NULL,
    digest text NOT NULL,
    chained text NOT NULL,
    sent_at bigint,                      -- when an anchor had it
    PRIMARY KEY (tenant, n)
);
CREATE INDEX seals_unsent ON seals (tenant, n) WHERE sent_at IS NULL;

CREATE TABLE seal_entries (
    tenant text COLLATE "C" NOT NULL,
    n bigint NOT NULL,
    no integer NOT NULL,
    call_id uuid NOT NULL,
    fact text COLLATE "C" NOT NULL,
    digest text NOT NULL,
    PRIMARY KEY (tenant, n, no)
);
CREATE INDEX seal_entries_by_call ON seal_entries (call_id, fact);

-- Also where code ends a call that knows of no seals.
CREATE FUNCTION ends_wait() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO unsealed VALUES (NEW.tenant, NEW.id, NEW.state) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER ends_wait_for_a_seal AFTER UPDATE OF state ON calls
    FOR EACH ROW WHEN (NEW.state <> OLD.state AND NEW.state <> 'INTENT')
    EXECUTE FUNCTION ends_wait();

CREATE FUNCTION unknown_calls_wait() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO unsealed VALUES (NEW.tenant, NEW.id, 'UNKNOWN') ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER unknown_calls_wait_for_a_seal AFTER UPDATE OF noted ON open_calls
    FOR EACH ROW WHEN (NEW.noted AND NOT OLD.noted) EXECUTE FUNCTION unknown_calls_wait();

-- Only here is it said that a call has gone: one that goes otherwise is missed.
CREATE OR REPLACE FUNCTION calls_go() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO unsealed SELECT tenant, id, 'GONE' FROM calls
        WHERE task_id = ANY(ARRAY(SELECT task_id FROM gone)) ON CONFLICT DO NOTHING;
    DELETE FROM open_calls WHERE id = ANY(ARRAY(
        SELECT id FROM calls WHERE task_id = ANY(ARRAY(SELECT task_id FROM gone))));
    DELETE FROM calls WHERE task_id = ANY(ARRAY(SELECT task_id FROM gone));
    RETURN NULL;
END $$;

-- Behind the triggers, which keep others from ending calls meanwhile.
INSERT INTO unsealed SELECT tenant, id, state FROM calls WHERE state <> 'INTENT';
INSERT INTO unsealed SELECT tenant, id, 'UNKNOWN' FROM open_calls WHERE noted;
"""
