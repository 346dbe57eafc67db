"""Versions of handlers: which one a task was begun with, and which ones a worker runs."""

from typing import Final

VERSIONS: Final = """
-- 0 until the first claim.
ALTER TABLE tasks ADD COLUMN code_version INTEGER NOT NULL DEFAULT 0;
-- The pool's type is "type/version" then (`Task.pool_type`). Most tasks pass the pool once, before
-- they have a version: they are not in this index.
CREATE INDEX pool_stamped ON pool (lane, type) WHERE instr(type, '/') > 0;
-- By type, the versions of its code; what is not named is version 1.
ALTER TABLE workers ADD COLUMN versions TEXT NOT NULL DEFAULT '{}';
"""
