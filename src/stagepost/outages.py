"""What an outage makes everybody say again and again, in one line a minute.

While a store is away each claim, write, heartbeat and loop tells so at each of its tries: thousands
of lines a minute, in which everything else drowns.
"""

import logging
import threading
from typing import Final

from stagepost.errors import LimiterUnavailable, StoreUnavailable

_SECONDS: Final = 60.0
_AWAY: Final = (StoreUnavailable, LimiterUnavailable)


class SeldomTold(logging.Filter):
    """Of lines that name an error of something that is away, the first a minute of each wording.

    It says how many there were since. Lines without such an error among their arguments all pass.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._told: dict[tuple[str, str], _Told] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to tell it; it says then how many were not told before it."""
        if not isinstance(record.args, tuple) or not any(
            isinstance(each, _AWAY) for each in record.args
        ):
            return True
        with self._lock:
            told = self._told.setdefault((record.name, str(record.msg)), _Told())
            if record.created - told.at < _SECONDS:
                told.since += 1
                return False
            dropped, told.at, told.since = told.since, record.created, 0
        if dropped:
            record.msg = f"{record.getMessage()} ({dropped} more like it since)"
            record.args = None
        return True


class _Told:
    """When a wording was last told, and how often it was not since."""

    def __init__(self) -> None:
        self.at = float("-inf")
        self.since = 0
