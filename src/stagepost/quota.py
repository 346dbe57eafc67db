"""What a tenant may have at once. Pure data."""

from typing import Final, NamedTuple, Self

MOST: Final = 10_000
"""Tenants with quotas of their own."""


MOST_BUDGETS: Final = 1_000
"""Tenants with budgets of their own, beside those of models.toml."""


class OwnBudgets(NamedTuple):
    """What a tenant may spend on models, such as `20/day`, in US dollars; none: any sum."""

    tenant: str
    amounts: tuple[str, ...]

    @property
    def text(self) -> str:
        """The amounts as they are kept."""
        return " ".join(self.amounts)

    @classmethod
    def kept(cls, tenant: str, text: str) -> Self:
        """And back."""
        return cls(tenant, tuple(text.split()))


class Quota(NamedTuple):
    """How many tasks of a tenant may wait for their first start; None: any number."""

    tenant: str
    max_queued: int | None


class Backlog(NamedTuple):
    """A tenant's quota as it counts now, and how many of its tasks wait.

    `own` says that the tenant has a quota of its own, rather than the default one. `waiting` counts
    the tasks that were submitted or started by others while it had one, and those that batches from
    outside have still to start.
    """

    quota: Quota
    own: bool
    waiting: int
