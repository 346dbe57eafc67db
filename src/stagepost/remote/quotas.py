"""The quotas of tenants, asked of a server."""

from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from stagepost.remote.transport import Call, Transport

if TYPE_CHECKING:
    from stagepost.web.quotas import OwnQuotas, Quotas
    from stagepost.web.schemas import Listed

_API: Final = "/api/v1"


class RemoteQuotas:
    """The quotas; a key needs the role admin for them."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def page(self, limit: int, after: str | None) -> "Listed[OwnQuotas]":
        """A page of the quotas that tenants have of their own."""
        found: Listed[OwnQuotas] = await self._transport.get(
            f"{_API}/quotas", {"limit": limit, "after": after}
        )
        return found

    async def get(self, tenant: str) -> "Quotas":
        """A tenant's quotas, and how many of its tasks wait."""
        found: Quotas = await self._transport.get(_path(tenant))
        return found

    async def set(self, tenant: str, max_queued: int | None) -> "Quotas":
        """Give a tenant quotas of its own; None lets any number of tasks wait."""
        body = {"maxQueued": max_queued}
        call = Call(method="PUT", path=_path(tenant), safe=True, make_body=lambda: {"json": body})
        found: Quotas = await self._transport.json(call)
        return found

    async def unset(self, tenant: str) -> None:
        """Let the default quotas count for a tenant again."""
        await self._transport.json(Call(method="DELETE", path=_path(tenant), safe=True))


def _path(tenant: str) -> str:
    return f"{_API}/tenants/{quote(tenant, safe='')}/quotas"
