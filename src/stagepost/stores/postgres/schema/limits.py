"""The limits that people have set."""

from typing import Final

LIMITS: Final = """
-- `seconds` is the length of the window.
CREATE TABLE limits (
    name text COLLATE "C" PRIMARY KEY,
    units bigint,
    seconds double precision NOT NULL,
    burst bigint,
    at_once integer
);
"""
