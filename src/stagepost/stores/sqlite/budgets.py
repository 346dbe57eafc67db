"""What tenants may spend, in the embedded store."""

from collections.abc import Sequence
from typing import Final

import apsw

from stagepost.errors import Conflict
from stagepost.quota import MOST_BUDGETS, OwnBudgets
from stagepost.stores.accepting import too_many_budgets
from stagepost.stores.sqlite.intents import Kind
from stagepost.stores.sqlite.readers import Readers
from stagepost.stores.sqlite.transaction import Transaction
from stagepost.stores.sqlite.writer import Writer

_ALL: Final = "SELECT tenant, amounts FROM tenant_budgets ORDER BY tenant"
_SET: Final = """
INSERT OR REPLACE INTO tenant_budgets SELECT ?1, ?2
WHERE (SELECT count(*) FROM tenant_budgets WHERE tenant <> ?1) < ?3"""


class SqliteBudgets:
    """The BudgetRules port."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer = writer
        self._readers = readers

    async def all(self) -> Sequence[OwnBudgets]:
        """All of them by tenant."""
        return await self._readers.call(_all)

    async def set(self, budgets: OwnBudgets) -> None:
        """Give a tenant budgets of its own."""
        await self._writer.call(Kind.CHANGE, _set, budgets)

    async def unset(self, tenant: str) -> None:
        """It has none any more."""
        await self._writer.call(Kind.CHANGE, _unset, tenant)


def _all(connection: apsw.Connection) -> Sequence[OwnBudgets]:
    return [OwnBudgets.kept(*row) for row in connection.execute(_ALL)]


def _set(tx: Transaction, arguments: list[OwnBudgets]) -> Sequence[Conflict | None]:
    return [_set_one(tx, budgets) for budgets in arguments]


def _set_one(tx: Transaction, budgets: OwnBudgets) -> Conflict | None:
    tx.execute(_SET, (budgets.tenant, budgets.text, MOST_BUDGETS))
    return None if tx.changes() else too_many_budgets()


def _unset(tx: Transaction, arguments: list[str]) -> Sequence[None]:
    for tenant in arguments:
        tx.execute("DELETE FROM tenant_budgets WHERE tenant = ?", (tenant,))
    return [None] * len(arguments)
