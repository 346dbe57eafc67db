"""How what is not kept had ended."""

from typing import Final

STONES: Final = """
-- Null where the tombstone is from before this was noted.
ALTER TABLE tombstones ADD COLUMN status TEXT;
"""
