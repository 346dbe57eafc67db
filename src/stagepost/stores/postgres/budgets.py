"""What tenants may spend, in PostgreSQL."""

from collections.abc import Sequence
from typing import Final

from stagepost.quota import MOST_BUDGETS, OwnBudgets
from stagepost.stores.accepting import too_many_budgets
from stagepost.stores.postgres.connections import Backend
from stagepost.stores.postgres.engine import Engine
from stagepost.stores.postgres.transaction import Transaction

_ALL: Final = "SELECT tenant, amounts FROM tenant_budgets ORDER BY tenant"
_SET: Final = """
INSERT INTO tenant_budgets (tenant, amounts) SELECT $1::text, $2::text
WHERE (SELECT count(*) FROM tenant_budgets WHERE tenant <> $1::text) < $3
ON CONFLICT (tenant) DO UPDATE SET amounts = excluded.amounts RETURNING 1"""
_UNSET: Final = "DELETE FROM tenant_budgets WHERE tenant = $1::text"


class PostgresBudgets:
    """The BudgetRules port."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def all(self) -> Sequence[OwnBudgets]:
        """All of them by tenant."""
        return await self._engine.read(_all)

    async def set(self, budgets: OwnBudgets) -> None:
        """Give a tenant budgets of its own."""

        # Two at once may pass the bound by one, which bounds it all the same.
        async def work(tx: Transaction) -> bool:
            row = (budgets.tenant, budgets.text, MOST_BUDGETS)
            return bool(await tx.connection.fetch(_SET, *row))

        if not await self._engine.change(work):
            raise too_many_budgets()

    async def unset(self, tenant: str) -> None:
        """It has none any more."""

        async def work(tx: Transaction) -> None:
            await tx.connection.execute(_UNSET, tenant)

        await self._engine.change(work)


async def _all(connection: Backend) -> Sequence[OwnBudgets]:
    return [OwnBudgets.kept(*row) for row in await connection.fetch(_ALL)]
