"""What a tenant may have at once. Pure data."""

from typing import Final, NamedTuple

MOST: Final = 10_000
"""Tenants with quotas of their own."""


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
