"""Values without what differs between any two tasks."""

import re
from typing import Any

# What differs between any two tasks: ids, instants, durations, the order in which they were made.
_VARYING = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{13}")
_DURATION = re.compile(r'"processingMs":\d+')
_NUMBER = re.compile(r'"number":\d+')


def shape(value: Any) -> Any:
    """A value's type, and its text without ids, instants and numbers of its own."""
    text = _VARYING.sub("?", str(value))
    text = _NUMBER.sub("number", _DURATION.sub("duration", text))
    return (type(value).__name__, text)
