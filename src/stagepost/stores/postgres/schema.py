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

_FIRST: Final = """
-- The store's time: milliseconds since 1970-01-01 UTC. Nothing else here reads a clock.
CREATE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
    $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

CREATE TABLE tasks (
    id uuid PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    "user" text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    lane text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    deadline bigint NOT NULL,
    hard_deadline boolean NOT NULL DEFAULT false,
    ttl bigint NOT NULL,
    max_attempts integer NOT NULL,
    attempt integer NOT NULL DEFAULT 1,
    priority integer NOT NULL DEFAULT 0,
    run_at bigint NOT NULL,
    due_at bigint,
    pooled_at bigint,
    fence integer NOT NULL DEFAULT 0,
    lease_id uuid,
    worker_id uuid,
    seq integer NOT NULL DEFAULT 0,
    progress integer NOT NULL DEFAULT 0,
    step text,
    saved_steps integer NOT NULL DEFAULT 0,
    saved_fence integer NOT NULL DEFAULT 0,
    lost_claims integer NOT NULL DEFAULT 0,
    waits integer NOT NULL DEFAULT 0,
    wait text,
    waiting_since bigint,
    cancel text,
    failure_kind text COLLATE "C",
    error_message text,
    started_at bigint,
    ended_at bigint,
    upload_bytes bigint NOT NULL DEFAULT 0,
    trace_id text NOT NULL DEFAULT '',
    tagged boolean NOT NULL DEFAULT false,
    -- The status DEAD_LETTER; an index on the status itself would be paid for by every change.
    dead boolean NOT NULL DEFAULT false,
    result text,
    result_size bigint,
    result_blob text,
    input text
) WITH (fillfactor = 45);
CREATE INDEX tasks_by_tenant ON tasks (tenant, id);
CREATE INDEX tasks_due ON tasks (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX tasks_dead ON tasks (tenant, id) WHERE dead;

-- What can be claimed. score = pooled_at - priority, in ms. A row that was left behind by a task
-- which is not QUEUED any more does no harm: a claim drops it.
CREATE TABLE pool (
    lane text COLLATE "C" NOT NULL,
    score bigint NOT NULL,
    task_id uuid NOT NULL,
    type text COLLATE "C" NOT NULL,
    deadline bigint NOT NULL,
    pooled_at bigint NOT NULL,
    hard boolean NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE INDEX pool_order ON pool (lane, score, task_id);
CREATE INDEX pool_hard_deadlines ON pool (deadline) WHERE hard;

-- What each call of claim took, until all of it has ended.
CREATE TABLE claims (
    lease_id uuid PRIMARY KEY,
    worker_id uuid NOT NULL,
    tasks uuid[] NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE INDEX claims_by_worker ON claims (worker_id);

CREATE TABLE events (
    task_id uuid NOT NULL,
    seq integer NOT NULL,
    kind text NOT NULL,
    data text NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (task_id, seq)
);

CREATE TABLE steps (
    task_id uuid NOT NULL,
    path text COLLATE "C" NOT NULL,
    n integer NOT NULL,          -- the order in which they were saved
    name text COLLATE "C" NOT NULL,
    input_hash text NOT NULL,
    value text,
    size bigint NOT NULL,
    blob text,
    attempt integer NOT NULL,
    fence integer NOT NULL,
    started_at bigint NOT NULL,
    completed_at bigint NOT NULL
);
-- A path may be longer than an index takes.
CREATE UNIQUE INDEX steps_by_path ON steps (task_id, md5(path));
CREATE INDEX steps_in_order ON steps (task_id, n);

CREATE TABLE failures (
    task_id uuid NOT NULL,
    fence integer NOT NULL,
    attempt integer NOT NULL,
    kind text NOT NULL,
    message text NOT NULL,
    trace text NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (task_id, fence)
);

CREATE TABLE tags (
    task_id uuid NOT NULL,
    tag text COLLATE "C" NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    PRIMARY KEY (task_id, tag)
);
CREATE INDEX tags_by_tenant ON tags (tenant, tag, task_id);

CREATE TABLE artifacts (
    task_id uuid NOT NULL,
    name text COLLATE "C" NOT NULL,
    media_type text NOT NULL,
    size bigint NOT NULL,
    sha256 text NOT NULL,
    blob text NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (task_id, name)
);

CREATE TABLE uploads (
    id text COLLATE "C" PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    task_id uuid,
    name text NOT NULL,
    media_type text NOT NULL,
    size bigint NOT NULL,
    sha256 text NOT NULL,
    created_at bigint NOT NULL
);
CREATE INDEX uploads_by_task ON uploads (task_id) WHERE task_id IS NOT NULL;

-- A blob is staged before its first byte is written and kept once something refers to it.
CREATE TABLE blobs (
    key text COLLATE "C" PRIMARY KEY,
    staged_at bigint NOT NULL,
    kept boolean NOT NULL DEFAULT false
);
CREATE INDEX blobs_unreferenced ON blobs (staged_at) WHERE NOT kept;

CREATE TABLE idempotency (
    tenant text COLLATE "C" NOT NULL,
    "user" text COLLATE "C" NOT NULL,
    scope text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    fingerprint text NOT NULL,
    task_id uuid NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (tenant, "user", scope, key)
);
CREATE INDEX idempotency_by_age ON idempotency (created_at);

CREATE TABLE workers (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    lanes text NOT NULL,
    types text NOT NULL,
    slots integer NOT NULL,
    version text NOT NULL,
    state text NOT NULL,
    started_at bigint NOT NULL,
    beat_at bigint NOT NULL
);

CREATE TABLE api_keys (
    id text COLLATE "C" PRIMARY KEY,
    hash text COLLATE "C" NOT NULL UNIQUE,
    name text NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    "user" text,
    roles text NOT NULL,
    created_at bigint NOT NULL,
    revoked_at bigint
);

-- Who leads one of the engine's loops, and until when.
CREATE TABLE leases (
    name text COLLATE "C" PRIMARY KEY,
    holder text NOT NULL,
    until bigint NOT NULL
);

CREATE TABLE meta (name text COLLATE "C" PRIMARY KEY, value text NOT NULL);
"""


class Migration(NamedTuple):
    """A script, and the oldest version of this code that can work on what it leaves."""

    script: str
    oldest: int


MIGRATIONS: Final = (Migration(_FIRST, oldest=1),)
"""Script n brings a schema from version n to n + 1. A landed script is never changed."""

VERSION: Final = len(MIGRATIONS)

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
    await connection.execute(
        "UPDATE schema_version SET version = $1, oldest = $2", VERSION, MIGRATIONS[-1].oldest
    )


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
