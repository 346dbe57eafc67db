"""The tables of the PostgreSQL store, and how an older schema is brought up to date.

What shapes them (measured, docs/performance.md): ids rise with time, so inserts land at the right
edge of every index. No column that a task's usual life changes is in an index, and a page is left
half empty, so that those changes stay on their page and touch no index. The pool is narrow and
holds only what can be claimed. `claims` has one row for each call of `claim` that took something,
which is how the tasks of a worker are found without an index on them.

Migrations go in two steps, so that a fleet can be renewed one process at a time: one adds what the
new version needs (expand), and a later one takes away what no running version uses (contract). Each
says which is the oldest version that can still work on its outcome.
"""

from typing import Final, NamedTuple

from stagepost.errors import StoreRefused
from stagepost.stores.postgres.connections import Backend
from stagepost.stores.postgres.schema.accepting import ACCEPTING
from stagepost.stores.postgres.schema.budgets import BUDGETS
from stagepost.stores.postgres.schema.calls import CALLS
from stagepost.stores.postgres.schema.children import CHILDREN
from stagepost.stores.postgres.schema.fair import FAIR
from stagepost.stores.postgres.schema.first import FIRST
from stagepost.stores.postgres.schema.history import HISTORY
from stagepost.stores.postgres.schema.limits import LIMITS
from stagepost.stores.postgres.schema.mass import MASS
from stagepost.stores.postgres.schema.retention import RETENTION
from stagepost.stores.postgres.schema.room import ROOM
from stagepost.stores.postgres.schema.schedules import SCHEDULES
from stagepost.stores.postgres.schema.seals import SEALS
from stagepost.stores.postgres.schema.spent import SPENT
from stagepost.stores.postgres.schema.stones import STONES
from stagepost.stores.postgres.schema.versions import VERSIONS
from stagepost.stores.postgres.schema.waits import WAITS

ITS_OWN: Final = 0


class Migration(NamedTuple):
    """A script, and the oldest version of this code that can work on what it leaves.

    ITS_OWN is the version to which the script brings a schema: no code before it can.
    """

    script: str
    oldest: int


MIGRATIONS: Final = (
    Migration(FIRST, oldest=1),
    Migration(FAIR, oldest=2),
    Migration(WAITS, oldest=1),
    Migration(CHILDREN, oldest=1),
    Migration(LIMITS, oldest=1),
    Migration(SCHEDULES, oldest=1),
    Migration(ACCEPTING, oldest=1),
    Migration(VERSIONS, oldest=1),
    Migration(HISTORY, oldest=1),
    # Code that does not note which tasks use an upload would let it be swept.
    Migration(RETENTION, oldest=ITS_OWN),
    Migration(MASS, oldest=1),
    Migration(STONES, oldest=1),
    Migration(SPENT, oldest=1),
    Migration(ROOM, oldest=1),
    Migration(CALLS, oldest=1),
    Migration(BUDGETS, oldest=1),
    Migration(SEALS, oldest=1),
)
"""Script n brings a schema from version n to n + 1. A landed script is never changed."""

VERSION: Final = len(MIGRATIONS)

OLDEST: Final = max(each.oldest or version for version, each in enumerate(MIGRATIONS, 1))
"""The oldest version of this code that can work on VERSION."""

_LOCK: Final = 0x53544750
"""The advisory lock of whoever migrates ("STGP")."""

_LOCK_WAIT: Final = 60  # seconds for which another process may migrate
_LONGEST: Final = 24 * 3600.0  # seconds for one script


class Found(NamedTuple):
    """The version of a schema, and the oldest code that it lets work; zeros before the first."""

    version: int = 0
    oldest: int = 0


async def found_in(connection: Backend) -> Found:
    """What the schema on the connection's search path says of itself."""
    # Looked up in the catalogue: to_regclass may not yet know what another process has just made.
    if not await connection.fetchval(_HAS_VERSION):
        return Found()
    row = await connection.fetchrow("SELECT version, oldest FROM schema_version")
    return Found() if row is None else Found(*row)


async def migrate(connection: Backend, schema: str) -> None:
    """Bring the schema to VERSION, or leave a newer one that lets this version work.

    All in one transaction, behind a lock, so that of many processes that start at once one does it.
    Raises StoreRefused when this version is too old for what it finds.
    """
    if usable(await found_in(connection)):
        return
    await connection.execute(f"SET lock_timeout = '{_LOCK_WAIT}s'")
    # Not a lock of the transaction: one that has begun may not see what the one before has made.
    await connection.execute("SELECT pg_advisory_lock($1)", _LOCK, timeout=2.0 * _LOCK_WAIT)
    async with connection.transaction():
        await _bring_up(connection, schema)
    await connection.execute("SELECT pg_advisory_unlock($1)", _LOCK)
    await connection.execute("RESET lock_timeout")


async def _bring_up(connection: Backend, schema: str) -> None:
    found = await found_in(connection)
    if usable(found):
        return
    # A large table may take long.
    await connection.execute("SET LOCAL statement_timeout = 0")
    if not found.version:
        if await connection.fetchval("SELECT to_regnamespace($1)", schema) is None:
            await connection.execute(f"CREATE SCHEMA {schema}")
        await connection.execute(_VERSIONS)
    for migration in MIGRATIONS[found.version :]:
        await connection.execute(migration.script, timeout=_LONGEST)
    await connection.execute("UPDATE schema_version SET version = $1, oldest = $2", VERSION, OLDEST)


def usable(found: Found) -> bool:
    """Whether this version can work as it is; False when the schema must be brought up first.

    Raises StoreRefused for a schema that is too new.
    """
    if found.oldest > VERSION:
        raise StoreRefused(
            f"The database has schema version {found.version}, for which this Stagepost "
            f"(version {VERSION}) is too old; install a newer one."
        )
    return found.version >= VERSION


_HAS_VERSION: Final = """
SELECT EXISTS (SELECT FROM pg_catalog.pg_tables
    WHERE schemaname = current_setting('search_path') AND tablename = 'schema_version')"""
_VERSIONS: Final = """
CREATE TABLE schema_version (version integer NOT NULL, oldest integer NOT NULL);
INSERT INTO schema_version VALUES (0, 0);
"""
