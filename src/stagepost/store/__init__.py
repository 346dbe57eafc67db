"""PORT. The truth about every task: rows, checkpoints, events, leases, in one transactional store.

Terms
    *durable*     synced to disk; every verb returns only then.
    *fenced*      the write carries a Lease; it is refused with LeaseLost unless that claim owns the
                  task at that moment.
    *committed*   after each commit the store hands its wiring a `Committed`: the doorbells to ring.

Verbs are intentions: each is one transaction, and does all of its change or none. Durations are in
seconds and the store's own clock decides when they end; no worker's clock decides anything. The
verbs may be called from several event loops at once.

Every verb may raise StoreUnavailable; `submit` raises QueueFull where the others wait for room. A
verb raises Conflict for an id, key or path that is taken, and Unwritable for what no table takes
(text that is no Unicode, numbers beyond 64 bits); messages of progress and failures are mended
instead, since they must not cost a task its end. A refused call harms no other that is written with
it. A caller that is cancelled while its write is on the way may find it done; only a claim is taken
back.

Writes of one claim that are on the way together are done in this order: progress, checkpoints and
artifacts, settle.
"""

from typing import Protocol

from stagepost.store.accepting import Accepting
from stagepost.store.budgets import BudgetRules
from stagepost.store.calls import Calls
from stagepost.store.children import Children
from stagepost.store.claiming import Claiming
from stagepost.store.history import Histories
from stagepost.store.keeping import Keeping
from stagepost.store.keys import Keys
from stagepost.store.limits import LimitRules
from stagepost.store.mass import MassChanges
from stagepost.store.quotas import Quotas
from stagepost.store.reading import Reading
from stagepost.store.retention import Retention
from stagepost.store.rules import RuleBook
from stagepost.store.schedules import Schedules
from stagepost.store.seals import Seals
from stagepost.store.waits import Waits

__all__ = [
    "Accepting",
    "BudgetRules",
    "Calls",
    "Children",
    "Claiming",
    "Histories",
    "Keeping",
    "Keys",
    "LimitRules",
    "MassChanges",
    "Quotas",
    "Reading",
    "Retention",
    "RuleBook",
    "Schedules",
    "Seals",
    "Store",
    "Waits",
]


class Store(Accepting, Claiming, Keeping, Reading, Keys, Protocol):
    """The whole port."""

    @property
    def rules(self) -> RuleBook:
        """What an operator says of lanes, types and tenants."""
        ...

    @property
    def waits(self) -> Waits:
        """Sleeps and signals."""
        ...

    @property
    def children(self) -> Children:
        """Tasks that tasks have started."""
        ...

    @property
    def calls(self) -> Calls:
        """What was paid for at providers of models."""
        ...

    @property
    def budgets(self) -> BudgetRules:
        """What tenants may spend, where people have set it."""
        ...

    @property
    def seals(self) -> Seals:
        """What makes a change of those calls show."""
        ...

    @property
    def limits(self) -> LimitRules:
        """The limits that people have set."""
        ...

    @property
    def schedules(self) -> Schedules:
        """Tasks that are submitted again and again."""
        ...

    @property
    def quotas(self) -> Quotas:
        """What tenants may have."""
        ...

    @property
    def history(self) -> Histories:
        """How long tasks took."""
        ...

    @property
    def retention(self) -> Retention:
        """What is kept, for how long, and what is taken away."""
        ...

    @property
    def mass(self) -> MassChanges:
        """Changes of many tasks at once."""
        ...

    async def warm(self, *, workers: bool) -> None:
        """Make ready what is on every task's path; `workers` says whether any work here.

        Nothing depends on it but the time that the first tasks take, so it raises nothing.
        """
        ...

    async def ping(self) -> int:
        """The store's time if it can take writes now; raises StoreUnavailable with the reason."""
        ...

    async def close(self) -> None:
        """Finish what was begun and let go of the store."""
        ...
