"""The limits that people have set."""

from typing import Final

LIMITS: Final = """
-- `window` in seconds.
CREATE TABLE limits (
    name TEXT PRIMARY KEY,
    units INTEGER,
    window REAL NOT NULL,
    burst INTEGER,
    at_once INTEGER
) WITHOUT ROWID;
"""
