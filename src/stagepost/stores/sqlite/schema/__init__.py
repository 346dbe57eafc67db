"""The tables of the embedded store, and how an older file is brought up to date.

What shapes them (measured, docs/performance.md): ids rise with time, so inserts land at the right
edge of every b-tree; the pool is narrow and holds only what can be claimed; an index that changes
with every task is paid for by every task, so the ones below are partial where they can be.
"""

from typing import Final

import apsw

from stagepost.stores.sqlite.schema.accepting import ACCEPTING
from stagepost.stores.sqlite.schema.budgets import BUDGETS
from stagepost.stores.sqlite.schema.calls import CALLS
from stagepost.stores.sqlite.schema.children import CHILDREN
from stagepost.stores.sqlite.schema.fair import FAIR
from stagepost.stores.sqlite.schema.first import FIRST
from stagepost.stores.sqlite.schema.history import HISTORY
from stagepost.stores.sqlite.schema.limits import LIMITS
from stagepost.stores.sqlite.schema.mass import MASS
from stagepost.stores.sqlite.schema.retention import RETENTION
from stagepost.stores.sqlite.schema.room import ROOM
from stagepost.stores.sqlite.schema.schedules import SCHEDULES
from stagepost.stores.sqlite.schema.seals import SEALS
from stagepost.stores.sqlite.schema.spent import SPENT
from stagepost.stores.sqlite.schema.stones import STONES
from stagepost.stores.sqlite.schema.versions import VERSIONS
from stagepost.stores.sqlite.schema.waits import WAITS

APPLICATION_ID: Final = 0x53544750
"""Marks the file as ours ("STGP")."""

MIGRATIONS: Final = (
    FIRST,
    FAIR,
    WAITS,
    CHILDREN,
    LIMITS,
    SCHEDULES,
    ACCEPTING,
    VERSIONS,
    HISTORY,
    RETENTION,
    MASS,
    STONES,
    SPENT,
    ROOM,
    CALLS,
    BUDGETS,
    SEALS,
)
"""Script n brings a file from version n to n + 1. A landed script is never changed."""

VERSION: Final = len(MIGRATIONS)


def version_of(connection: apsw.Connection) -> int:
    """The schema version that the file says it has; 0 for a new one."""
    return int(connection.pragma("user_version"))


def migrate(connection: apsw.Connection) -> None:
    """Bring the file to VERSION, one transaction a step."""
    for number in range(version_of(connection), VERSION):
        with connection:
            connection.execute(MIGRATIONS[number])
            connection.pragma("user_version", number + 1)
            connection.pragma("application_id", APPLICATION_ID)
