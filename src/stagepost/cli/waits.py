"""What holds a task up, in words. Pure."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any


def waiting_text(wait: Mapping[str, Any] | None) -> str:
    """A `waitingFor` as a sentence without its full stop; empty for none."""
    if not wait:
        return ""
    name, until = str(wait["name"] or ""), wait.get("until")
    then = f"; goes on at {moment(until)}" if until else ""
    match wait["kind"]:
        case "retry":
            return f"the next attempt is at {moment(until)}" if until else "the next attempt is due"
        case "timer":
            if name != "runAt":
                of = "" if name == "sleep" else f" ({name})"
                return f"sleeps{of} until {moment(until)}"
            return f"starts at {moment(until)}" if until else "waits for its time"
        case "limit":
            return f"waits for a limit: {name.rstrip('.')}{then}"
        case "worker":
            return f"waits for a worker that serves {name}; none is alive"
        case "signal":
            return f'waits for the signal "{name}"' + (f" until {moment(until)}" if until else "")
        case "child":
            return f"waits for what it has started: {name}{then}"
        case "paused":
            return f"{name} is paused{then}"
        case kind:
            return f"waits for the {kind} {name}{then}"


def failed_text(task: Mapping[str, Any]) -> str:
    """What failed, and when it is tried again: a status as text."""
    why = str(task.get("errorMessage") or task.get("failureKind") or "").rstrip(".")
    again = task.get("nextAttemptAt")
    return f"attempt {task['attempt']} failed: {why}" + (
        f"; again at {moment(again)}" if again else ""
    )


def ended_by(data: Mapping[str, Any]) -> str:
    """Who cancelled, and why: a `cancelled` event's data as text."""
    by, reason = data.get("by"), data.get("reason")
    return f"cancelled{f' by {by}' if by else ''}{f': {reason}' if reason else ''}"


def moment(instant: str | None) -> str:
    """An RFC 3339 instant for people, to the second, in UTC; empty for None."""
    if instant is None:
        return ""
    return f"{datetime.fromisoformat(instant).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
