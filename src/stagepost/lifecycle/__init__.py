"""Every way in which a task changes its status, as pure functions.

Each takes the task and the instant, and answers the changed task and the facts to append to its
history. Stores apply a Change as it is, in one transaction; where a store does one of these in bulk
with a statement of its own, the conformance suite holds it to the function here.

One cause appends exactly one numbered event; only asking a running task to stop appends none.
"""

from stagepost.lifecycle.change import Change
from stagepost.lifecycle.claims import claimed, noted, saved, spawned
from stagepost.lifecycle.ends import settled
from stagepost.lifecycle.families import children_changed, waits_for
from stagepost.lifecycle.losses import Blame, died, loss, lost
from stagepost.lifecycle.submits import accepted, debounced
from stagepost.lifecycle.timers import due, expired, woken
from stagepost.lifecycle.wishes import cancelled, cancelled_with_parent, discarded, redriven

__all__ = [
    "Blame", "Change", "accepted", "cancelled", "cancelled_with_parent", "children_changed",
    "claimed", "debounced", "died", "discarded", "due", "expired", "loss", "lost", "noted",
    "redriven", "saved", "settled", "spawned", "waits_for", "woken",
]  # fmt: skip
