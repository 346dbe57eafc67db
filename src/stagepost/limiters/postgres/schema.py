"""The limiter's tables, which may lie in another database than the store's, and its statements."""

from collections.abc import Collection
from typing import Final

import orjson

_LOCK: Final = 0x53544C4D
"""The advisory lock of whoever makes the tables ("STLM"), or renews a holder."""

EXISTS: Final = "SELECT to_regprocedure('limiter_now()') IS NOT NULL"

HAS_SCHEMA: Final = "SELECT to_regnamespace($1) IS NOT NULL"

LOCKED: Final = f"SELECT pg_advisory_xact_lock({_LOCK})"

TABLES: Final = """
CREATE TABLE limiter_accounts (name text PRIMARY KEY, state text NOT NULL) WITH (fillfactor = 20);
CREATE TABLE limiter_holders (
    holder text PRIMARY KEY,
    renewed_at bigint NOT NULL,
    expires_at bigint NOT NULL
) WITH (fillfactor = 50);
CREATE FUNCTION limiter_now() RETURNS bigint LANGUAGE sql VOLATILE AS
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint';
"""
"""One row a limit, which every question about it locks; one row for each life of a process."""

ADD: Final = """
INSERT INTO limiter_accounts SELECT name, $2 FROM unnest($1::text[]) AS name ORDER BY name
ON CONFLICT DO NOTHING"""

TAKE: Final = """
SELECT name, state FROM limiter_accounts WHERE name = ANY($1::text[]) ORDER BY name FOR UPDATE"""

FORGET: Final = "DELETE FROM limiter_accounts WHERE name = ANY($1::text[])"

READ: Final = "SELECT name, state FROM limiter_accounts WHERE name = ANY($1::text[])"

MOMENT: Final = """
WITH moment AS (SELECT limiter_now() AS now),
     heard AS (SELECT max(renewed_at) AS last FROM limiter_holders)
SELECT now, ARRAY(
    SELECT holder FROM limiter_holders WHERE expires_at > now OR heard.last < now - $1
) FROM moment, heard"""
"""The instant, read once all locks are held, and who lives. After a time in which nobody was heard,
because the database was away or its clock has jumped, nobody is thought dead."""

KEEP: Final = """
UPDATE limiter_accounts AS account SET state = new.state
FROM unnest($1::text[], $2::text[]) AS new(name, state) WHERE account.name = new.name"""

KEEP_LIGHTLY: Final = f"{KEEP} AND set_config('synchronous_commit', 'off', true) = 'off'"
"""The same where nothing was granted or freed: all that a crash of the database can take of it is a
place in line, so the commit waits for no disk."""

SPARE: Final = """
WITH moment AS (SELECT limiter_now() AS now),
     heard AS (SELECT max(renewed_at) AS last FROM limiter_holders)
UPDATE limiter_holders SET expires_at = now + $1 FROM moment, heard WHERE heard.last < now - $1 / 2
"""
"""The same rule, kept: before one is heard again, all are given another lease."""

BURY: Final = "DELETE FROM limiter_holders WHERE expires_at < limiter_now() - $1 AND holder <> $2"

RENEW: Final = """
INSERT INTO limiter_holders SELECT $2, now, now + $1 FROM (SELECT limiter_now() AS now) AS moment
ON CONFLICT (holder) DO UPDATE
    SET renewed_at = excluded.renewed_at, expires_at = excluded.expires_at"""

LEAVE: Final = "DELETE FROM limiter_holders WHERE holder = $1"

RING: Final = "SELECT pg_notify($1, $2)"

EVERYBODY: Final = ""
"""What is said where all who wait in place look again."""

_MOST_SAID: Final = 7_000  # bytes; PostgreSQL takes a little more


def said_to(ids: Collection[str]) -> str:
    """What is said where these reservations look again."""
    text = orjson.dumps(sorted(ids)).decode()
    return text if len(text.encode()) <= _MOST_SAID else EVERYBODY


def ids_in(said: str) -> Collection[str] | None:
    """Whom it means; None for everybody, and for what an older release says."""
    return None if said == EVERYBODY else set(orjson.loads(said))
