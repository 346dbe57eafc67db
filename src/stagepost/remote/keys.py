"""API keys of a server."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from stagepost.remote.transport import Call, Transport

if TYPE_CHECKING:
    # Types only: importing them would load the whole web layer into each command.
    from stagepost.web.key_schemas import Key, NewKey

_PATH: Final = "/api/v1/keys"


class RemoteKeys:
    """Every verb raises Refused and Unreachable."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def make(
        self, name: str, roles: Sequence[str], user: str | None, tenant: str | None = None
    ) -> "NewKey":
        """Make an API key; its text is in this answer only.

        A `tenant` that is not the caller's own is for servers in the local mode.
        """
        body = {"name": name, "roles": list(roles), **({"user": user} if user else {})}
        key: NewKey = await self._transport.post(_PATH, body, _for_tenant(tenant))
        return key

    def live(self, tenant: str | None = None) -> "AsyncIterator[Key]":
        """The keys of the tenant."""
        return self._transport.all(_PATH, {"limit": 200}, _for_tenant(tenant))

    async def revoke(self, key_id: str, tenant: str | None = None) -> None:
        """End a key."""
        path = f"{_PATH}/{quote(key_id, safe='')}"
        call = Call(method="DELETE", path=path, headers=_for_tenant(tenant))
        await self._transport.json(call)


def _for_tenant(tenant: str | None) -> Mapping[str, str]:
    return {} if tenant is None else {"X-Tenant-Id": tenant}
