"""What was queued before the pool was kept by tenant is claimed behind the migration."""

from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

from stagepost.choice import LaneTurns
from stagepost.clock import SystemClock
from stagepost.records import Demand, WorkerRecord
from stagepost.store import Store
from stagepost.stores.postgres import PostgresStore
from stagepost.stores.postgres import schema as postgres_schema
from stagepost.stores.postgres.address import address_of
from stagepost.stores.postgres.connections import connect
from stagepost.stores.sqlite import SqliteStore
from stagepost.stores.sqlite import schema as sqlite_schema
from stagepost.stores.sqlite.folder import DATABASE
from support.postgres import Server
from support.world import new_id

QUEUED = """
INSERT INTO tasks (id, tenant, "user", type, lane, status, created_at, deadline, ttl, max_attempts,
    run_at, pooled_at, seq, input)
VALUES ('{id}', '{tenant}', 'ada', 'review', 'interactive', 'QUEUED', 1, {late}, 1, 4, 1, 1, 1, '1')
"""
LATE = 4_000_000_000_000
TENANTS = ("acme", "bolt")


async def claimed_of(store: Store) -> set[str]:
    worker = WorkerRecord(new_id(), "w", ("interactive",), ("review",), 8, "1")
    await store.register(worker)
    demand = Demand(worker.id, 8, LaneTurns({"interactive": 1}), worker.types)
    claims = await store.claim(demand)
    assert {claim.tenant for claim in claims} == set(TENANTS)
    return {claim.task_id for claim in claims}


async def test_of_the_embedded_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = {new_id(): tenant for tenant in TENANTS}
    connection = apsw.Connection(str(tmp_path / DATABASE))
    with monkeypatch.context() as patched:
        patched.setattr(sqlite_schema, "VERSION", 1)
        sqlite_schema.migrate(connection)
    for task_id, tenant in ids.items():
        connection.execute(QUEUED.format(id=task_id, tenant=tenant, late=LATE))
        connection.execute(
            "INSERT INTO pool VALUES ('interactive', 1, ?, 'review', ?, 0)", (task_id, LATE)
        )
    connection.close()
    store = SqliteStore(tmp_path, SystemClock(), lambda _: None)
    assert await claimed_of(store) == set(ids)
    await store.close()


async def test_of_postgresql(postgres_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    ids: dict[str, Any] = {new_id(): tenant for tenant in TENANTS}
    name = f"fair_{new_id().replace('-', '')}"
    url = f"{postgres_server.url}?schema={name}"
    backend = await connect(address_of(url))
    with monkeypatch.context() as patched:
        patched.setattr(postgres_schema, "VERSION", 1)
        patched.setattr(postgres_schema, "MIGRATIONS", postgres_schema.MIGRATIONS[:1])
        await postgres_schema.migrate(backend, name)
    for task_id, tenant in ids.items():
        await backend.execute(QUEUED.format(id=task_id, tenant=tenant, late=LATE))
        await backend.execute(
            "INSERT INTO pool (lane, score, task_id, type, deadline, pooled_at, hard)"
            f" VALUES ('interactive', 1, '{task_id}', 'review', {LATE}, 1, false)"
        )
    await backend.close(timeout=5)
    store = await PostgresStore.open(url, SystemClock(), lambda _: None)
    assert await claimed_of(store) == set(ids)
    await store.close()
    connection = await asyncpg.connect(postgres_server.url)
    await connection.execute(f"DROP SCHEMA {name} CASCADE")
    await connection.close()
