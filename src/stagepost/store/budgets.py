"""PORT. What tenants may spend on models, where somebody has said so for one of them."""

from collections.abc import Sequence
from typing import Protocol

from stagepost.quota import OwnBudgets


class BudgetRules(Protocol):
    """Budgets by tenant. Few and rarely changed; who works by them reads them once a second."""

    async def all(self) -> Sequence[OwnBudgets]:
        """All of them by tenant."""
        ...

    async def set(self, budgets: OwnBudgets) -> None:
        """Give a tenant budgets of its own, in place of those that it had.

        Raises Conflict when `MOST_BUDGETS` other tenants have some.
        """
        ...

    async def unset(self, tenant: str) -> None:
        """The tenant has none of its own any more; as it was if it had none."""
        ...
