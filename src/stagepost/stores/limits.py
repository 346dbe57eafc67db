"""What every store says of limits."""

from stagepost.errors import Conflict
from stagepost.limit import MOST_LIMITS


def too_many_limits() -> Conflict:
    """There is no room for another one."""
    return Conflict(f"There are {MOST_LIMITS} limits, which is the most; take one away.")
