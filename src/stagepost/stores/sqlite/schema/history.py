"""How long tasks took."""

from typing import Final

HISTORY: Final = """
-- The latest times in ms, oldest first, of the tasks of a type whose inputs are about as large.
CREATE TABLE history (
    type TEXT NOT NULL,
    size_class INTEGER NOT NULL,
    took TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (type, size_class)
) WITHOUT ROWID;
"""
