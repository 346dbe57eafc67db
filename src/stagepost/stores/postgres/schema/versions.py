"""Versions of handlers: which one a task was begun with, and which ones a worker runs."""

from typing import Final

VERSIONS: Final = """
-- 0 until the first claim.
ALTER TABLE tasks ADD COLUMN code_version integer NOT NULL DEFAULT 0;
ALTER TABLE pool ADD COLUMN code_version integer NOT NULL DEFAULT 0;
-- Most tasks pass the pool once, before they have a version: they are in no index of it.
CREATE INDEX pool_stamped ON pool (lane, type, code_version) WHERE code_version > 0;
-- By type, the versions of its code; what is not named is version 1.
ALTER TABLE workers ADD COLUMN versions text NOT NULL DEFAULT '{}';
"""
