"""Tombstones, and which tasks use an upload."""

from typing import Final

RETENTION: Final = """
-- What is left of tasks that are not kept. "by" is null for one that was pruned by age.
CREATE TABLE tombstones (
    task_id uuid PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    "user" text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    by text,
    hashes text
);
CREATE INDEX tombstones_by_age ON tombstones (at) WHERE by IS NULL;

-- An upload lives as long as the tasks whose inputs name it.
CREATE TABLE upload_uses (
    task_id uuid NOT NULL,
    upload_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (task_id, upload_id)
);
CREATE INDEX upload_uses_by_upload ON upload_uses (upload_id);

INSERT INTO upload_uses SELECT task_id, id FROM uploads WHERE task_id IS NOT NULL;
INSERT INTO upload_uses
SELECT t.id, u.id FROM uploads AS u JOIN tasks AS t ON t.tenant = u.tenant
    AND position(u.id IN t.input) > 0
WHERE u.task_id IS NULL ON CONFLICT DO NOTHING;
UPDATE blobs SET kept = false WHERE key IN (SELECT id FROM uploads)
    AND key NOT IN (SELECT upload_id FROM upload_uses);
"""
