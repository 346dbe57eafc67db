"""The budgets of tenants, asked of a server."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from stagepost.remote.transport import Call, Transport

if TYPE_CHECKING:
    from stagepost.web.budgets import OwnTenantBudgets, TenantBudgets
    from stagepost.web.schemas import Listed

_API: Final = "/api/v1"


class RemoteBudgets:
    """The budgets; a key needs the role admin for them."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def page(self, limit: int, after: str | None) -> "Listed[OwnTenantBudgets]":
        """A page of the budgets that were set for tenants through the API."""
        found: Listed[OwnTenantBudgets] = await self._transport.get(
            f"{_API}/budgets", {"limit": limit, "after": after}
        )
        return found

    async def get(self, tenant: str) -> "TenantBudgets":
        """A tenant's budgets as they count now."""
        found: TenantBudgets = await self._transport.get(_path(tenant))
        return found

    async def set(self, tenant: str, budgets: Sequence[str]) -> "TenantBudgets":
        """Give a tenant budgets of its own, such as `20/day`; none lets it spend any sum."""
        body = {"budgets": list(budgets)}
        call = Call(method="PUT", path=_path(tenant), safe=True, make_body=lambda: {"json": body})
        found: TenantBudgets = await self._transport.json(call)
        return found

    async def unset(self, tenant: str) -> None:
        """Let the budgets of models.toml count for a tenant again."""
        await self._transport.json(Call(method="DELETE", path=_path(tenant), safe=True))


def _path(tenant: str) -> str:
    return f"{_API}/tenants/{quote(tenant, safe='')}/budgets"
