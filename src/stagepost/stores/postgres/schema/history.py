"""How long tasks took."""

from typing import Final

HISTORY: Final = """
-- The latest times in ms, oldest first, of the tasks of a type whose inputs are about as large.
CREATE TABLE history (
    type text COLLATE "C" NOT NULL,
    size_class integer NOT NULL,
    took bigint[] NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (type, size_class)
);
"""
