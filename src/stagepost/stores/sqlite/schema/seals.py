"""The seals of the ledger, and what waits for one."""

from typing import Final

SEALS: Final = """
-- What became true of calls and is not sealed yet; see stagepost.audit.entries.
CREATE TABLE unsealed (
    tenant TEXT NOT NULL,
    call_id TEXT NOT NULL,
    fact TEXT NOT NULL
        CHECK (fact IN ('UNKNOWN', 'RESULT', 'REJECTED', 'REFUSED', 'GONE')),
    PRIMARY KEY (tenant, call_id, fact)
) WITHOUT ROWID;
INSERT INTO unsealed SELECT tenant, id, state FROM calls WHERE state <> 'INTENT';
INSERT INTO unsealed SELECT tenant, id, 'UNKNOWN' FROM open_calls WHERE noted;

CREATE TABLE seals (
    tenant TEXT NOT NULL,
    n INTEGER NOT NULL,
    at INTEGER NOT NULL,
    first TEXT NOT NULL,
    last TEXT NOT NULL,
    entries INTEGER NOT NULL,
    digest TEXT NOT NULL,
    chained TEXT NOT NULL,
    sent_at INTEGER,                     -- when an anchor had it
    PRIMARY KEY (tenant, n)
) WITHOUT ROWID;
CREATE INDEX seals_unsent ON seals (tenant, n) WHERE sent_at IS NULL;

CREATE TABLE seal_entries (
    tenant TEXT NOT NULL,
    n INTEGER NOT NULL,
    no INTEGER NOT NULL,
    call_id TEXT NOT NULL,
    fact TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (tenant, n, no)
) WITHOUT ROWID;
CREATE INDEX seal_entries_by_call ON seal_entries (call_id, fact);

CREATE TRIGGER ends_wait_for_a_seal AFTER UPDATE OF state ON calls
WHEN NEW.state <> OLD.state AND NEW.state <> 'INTENT' BEGIN
    INSERT OR IGNORE INTO unsealed VALUES (NEW.tenant, NEW.id, NEW.state);
END;
CREATE TRIGGER unknown_calls_wait_for_a_seal AFTER UPDATE OF noted ON open_calls
WHEN NEW.noted AND NOT OLD.noted BEGIN
    INSERT OR IGNORE INTO unsealed VALUES (NEW.tenant, NEW.id, 'UNKNOWN');
END;

-- Only here is it said that a call has gone: one that goes otherwise is missed.
DROP TRIGGER calls_go_with_their_tombstone;
CREATE TRIGGER calls_go_with_their_tombstone AFTER DELETE ON tombstones BEGIN
    INSERT OR IGNORE INTO unsealed
        SELECT tenant, id, 'GONE' FROM calls WHERE task_id = OLD.task_id;
    DELETE FROM open_calls WHERE id IN (SELECT id FROM calls WHERE task_id = OLD.task_id);
    DELETE FROM calls WHERE task_id = OLD.task_id;
END;
"""
