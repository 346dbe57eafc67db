"""What claims write, as data: a lease, and what is written under it."""

from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache
from typing import Any, NamedTuple

from stagepost.errors import Conflict
from stagepost.records import ProgressNote
from stagepost.stores.postgres.rows import known
from stagepost.task import Lease


class Kind(IntEnum):
    """The order within a batch.

    What one claim has in flight at once is never refused because the claim's own end is with it.
    """

    PROGRESS = 0
    STEP = 1
    ARTIFACT = 2
    SETTLE = 3


class Write(NamedTuple):
    """A lease, what is written under it, and the progress that goes before it."""

    kind: Kind
    lease: Lease
    what: Any
    note: ProgressNote | None = None


Answer = Conflict | None
"""None: it was done."""

Numbered = list[tuple[int, Write]]
"""Some of a batch's writes, each with its number in it."""


def of_kind(writes: Sequence[Write], *kinds: Kind) -> Numbered:
    """Those of these kinds, in the order of their kinds."""
    found = [(number, each) for number, each in enumerate(writes) if each.kind in kinds]
    return sorted(found, key=lambda item: item[1].kind)


def sound(lease: Lease) -> bool:
    """Whether a lease could be one of ours; any text may come as one."""
    return known(lease.task_id) and _known(lease.lease_id)


_known = lru_cache(256)(known)
"""A lease is that of many tasks."""
