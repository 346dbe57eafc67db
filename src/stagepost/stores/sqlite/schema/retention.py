"""Tombstones, and which tasks use an upload."""

from typing import Final

RETENTION: Final = """
-- What is left of tasks that are not kept. `by` is null for one that was pruned by age.
CREATE TABLE tombstones (
    task_id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    user TEXT NOT NULL,
    at INTEGER NOT NULL,
    by TEXT,
    hashes TEXT
) WITHOUT ROWID;
CREATE INDEX tombstones_by_age ON tombstones (at) WHERE by IS NULL;

-- An upload lives as long as the tasks whose inputs name it.
CREATE TABLE upload_uses (
    task_id TEXT NOT NULL,
    upload_id TEXT NOT NULL,
    PRIMARY KEY (task_id, upload_id)
) WITHOUT ROWID;
CREATE INDEX upload_uses_by_upload ON upload_uses (upload_id);

INSERT INTO upload_uses SELECT task_id, id FROM uploads WHERE task_id IS NOT NULL;
INSERT OR IGNORE INTO upload_uses
SELECT task.id, file.id FROM uploads AS file JOIN tasks AS task ON task.tenant = file.tenant
    AND instr(coalesce(task.input, (SELECT body FROM inputs WHERE task_id = task.id)), file.id) > 0
WHERE file.task_id IS NULL;
UPDATE blobs SET kept = 0 WHERE key IN (SELECT id FROM uploads)
    AND key NOT IN (SELECT upload_id FROM upload_uses);
"""
