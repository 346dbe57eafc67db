"""PORT. The seals of the ledger, an attribute of the store: `store.seals`."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from stagepost.audit.faults import Held
from stagepost.audit.seals import Seal


class Scanned(NamedTuple):
    """A call that has ended: whether its end is neither sealed nor waiting for it."""

    call_id: str
    tenant: str
    loose: bool


class SealReading(Protocol):
    """What a verification reads. A page is of at most 1,000 rows; each verb is one read."""

    async def tenants(self, after: str, limit: int) -> Sequence[str]:
        """A page of the tenants that have seals, behind the tenant `after`; "" is before all."""
        ...

    async def chain(self, tenant: str, after: int, limit: int) -> Sequence[Seal]:
        """A page of a tenant's seals behind the one of this number."""
        ...

    async def last(self, tenant: str) -> int:
        """The number of a tenant's last seal; 0 without any."""
        ...

    async def held(self, tenant: str, n: int) -> Sequence[Held]:
        """The entries of a seal in their order, each with the row of its call as it is now."""
        ...

    async def scan(self, after: str | None, limit: int) -> Sequence[Scanned]:
        """A page of all calls behind this one, by their ids."""
        ...

    async def waiting(self) -> Mapping[str, int]:
        """How many facts of each tenant wait to be sealed; no tenant without any."""
        ...

    async def unsent_counts(self) -> Mapping[str, int]:
        """How many seals of each tenant no anchor has taken yet; no tenant without any."""
        ...


class Seals(SealReading, Protocol):
    """Facts wait for their seal from the transaction on in which they became true.

    Facts are those of `stagepost.audit.entries`. Seals, and the entries in them, are never changed
    and never taken away; only that an anchor has one is noted.
    """

    async def waiting_tenants(self, after: str, limit: int) -> Sequence[str]:
        """A page of the tenants that have facts to be sealed, behind the tenant `after`."""
        ...

    async def seal(self, tenants: Sequence[str], limit: int) -> int:
        """Make one seal for each of these tenants, of up to `limit` facts in all; how many.

        Two that seal at once make one chain.
        """
        ...

    async def unsent(self, limit: int) -> Sequence[Seal]:
        """Seals that no anchor has taken yet; each tenant's in the order of their numbers."""
        ...

    async def sent(self, seals: Sequence[Seal]) -> None:
        """An anchor has taken these."""
        ...
