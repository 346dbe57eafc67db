"""Tasks and what happens to them, for tests: built with defaults, or drawn by Hypothesis."""

from typing import Any

from hypothesis import strategies as st

from stagepost.failure import Failure, FailureKind
from stagepost.outcome import Cancelled, Drained, Failed, Outcome, Succeeded, Waiting
from stagepost.task import CancelRequest, Payload, Status, Task
from stagepost.waiting import LimitFree

SECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

BORN = 1_700_000_000_000
"""The instant at which the tests' time begins."""


def a_task(**changes: Any) -> Task:
    """A new task of the default kind."""
    values: dict[str, Any] = {
        "id": "018bcfe5-6800-7000-8000-000000000001",
        "tenant": "acme",
        "user": "ada",
        "type": "review",
        "lane": "interactive",
        "status": Status.PENDING,
        "created_at": BORN,
        "deadline": BORN + DAY,
        "ttl": DAY,
        "max_attempts": 4,
        "run_at": BORN,
    }
    return Task(**(values | changes))


def failed(
    delay: float | None = 5.0,
    kind: FailureKind = FailureKind.SERVER_ERROR,
    message: str = "It broke.",
    *,
    lost: bool = False,
) -> Failed:
    """A failed attempt."""
    return Failed(Failure(kind, message), delay, lost=lost)


def succeeded(text: str = '{"ok":true}') -> Succeeded:
    """A result."""
    return Succeeded(Payload(text, len(text.encode())))


def waiting(delay: float = 60.0, name: str = "pause") -> Waiting:
    """A wait for somebody else's limit."""
    return Waiting((LimitFree(name, delay),))


delays = st.floats(0, 100_000) | st.integers(0, 60).map(float)

going_on: st.SearchStrategy[Outcome] = st.one_of(
    st.builds(waiting, delays, st.sampled_from(["pause", "model"])),
    st.sampled_from(["drained", "rescued"]).map(Drained),
    st.builds(failed, delays | st.none(), st.sampled_from(FailureKind), lost=st.booleans()),
)
"""Ends of a claim after which the task may go on."""

outcomes: st.SearchStrategy[Outcome] = st.one_of(
    going_on,
    st.builds(succeeded),
    st.builds(lambda by: Cancelled(CancelRequest(by, "asked")), st.sampled_from(["ada", "bob"])),
)
"""Every way in which a claim can end."""
