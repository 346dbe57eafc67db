"""A claim as a store gives it, for tests that have no store."""

from stagepost.records import Claimed

CLAIM = Claimed(
    "task-1", 3, "lease-1", "acme", "ann", "a-type", "interactive",
    1, 4, 5000, 0, None, 0, 0, 0, "0" * 32, 1, "null",
)  # fmt: skip
"""The first attempt of four, with five seconds left until its deadline."""
