"""The quotas that tenants have."""

from collections.abc import Sequence
from typing import Final

from stagepost.quota import MOST, Backlog, Quota
from stagepost.stores.accepting import too_many_quotas
from stagepost.stores.postgres.connections import Backend
from stagepost.stores.postgres.engine import Engine
from stagepost.stores.postgres.transaction import Transaction
from stagepost.task import SETTLED

_SETTLED: Final = ", ".join(f"'{status}'" for status in sorted(SETTLED))
_WAITING: Final = f"""
SELECT (SELECT count(*) FROM backlog AS b JOIN tasks AS t ON t.id = b.task_id
    WHERE b.tenant = $1::text AND t.fence = 0 AND t.status IN ('PENDING', 'QUEUED'))
+ (SELECT coalesce(sum(b.held), 0)::bigint
    FROM backlog_batches AS b JOIN tasks AS t ON t.id = b.task_id
    WHERE b.tenant = $1::text AND t.status NOT IN ({_SETTLED}))"""
_OWN: Final = "SELECT max_queued FROM tenant_quotas WHERE tenant = $1::text"
_FIND: Final = """
SELECT tenant, max_queued FROM tenant_quotas WHERE tenant > $1::text
ORDER BY tenant LIMIT $2::integer"""
_SET: Final = """
INSERT INTO tenant_quotas (tenant, max_queued) SELECT $1::text, $2::bigint
WHERE (SELECT count(*) FROM tenant_quotas WHERE tenant <> $1::text) < $3
ON CONFLICT (tenant) DO UPDATE SET max_queued = excluded.max_queued RETURNING 1"""
_UNSET: Final = "DELETE FROM tenant_quotas WHERE tenant = $1::text"


class PostgresQuotas:
    """The Quotas port."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def set(self, quota: Quota) -> None:
        """Give a tenant a quota of its own."""
        if not await self._change(_SET, *quota, MOST):
            raise too_many_quotas()

    async def unset(self, tenant: str) -> None:
        """The default quota counts again."""
        await self._change(_UNSET, tenant)

    async def get(self, tenant: str) -> Backlog:
        """A tenant's quota and how many of its tasks wait."""
        default = self._engine.limits.default

        async def read(db: Backend) -> Backlog:
            own = await db.fetchrow(_OWN, tenant)
            waiting = await db.fetchval(_WAITING, tenant)
            return Backlog(Quota(tenant, own[0] if own else default), own is not None, waiting)

        return await self._engine.read(read)

    async def find(self, after: str, limit: int) -> Sequence[Quota]:
        """The quotas that tenants have of their own."""

        async def read(db: Backend) -> list[Quota]:
            return [Quota(*row) for row in await db.fetch(_FIND, after, limit)]

        return await self._engine.read(read)

    async def _change(self, statement: str, *arguments: object) -> bool:
        """Do it; returns whether it did anything."""

        async def work(tx: Transaction) -> bool:
            return bool(await tx.connection.fetch(statement, *arguments))

        changed = await self._engine.change(work)
        self._engine.limits.forget()
        return changed
