"""What serves a server's tasks: lanes, workers, shared limits, and the rules of all these."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from stagepost.remote.transport import Call, Transport

if TYPE_CHECKING:
    # Types only: importing them would load the whole web layer into each command.
    from stagepost.web.fleet_schemas import BudgetLimit, Lane, ModelLimit, SharedLimit, Worker

_API: Final = "/api/v1"


class RemoteFleet:
    """Every verb raises Refused and Unreachable."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def lanes(self) -> "Sequence[Lane]":
        """The lanes now."""
        lanes: Sequence[Lane] = (await self._transport.get(f"{_API}/lanes"))["items"]
        return lanes

    async def rule(
        self, path: str, body: Mapping[str, Any] | None = None, *, change: str = ""
    ) -> Any:
        """A lane's, type's or tenant's rule, such as `lanes/batch`: read, replaced by a `body`.

        `change` is `pause` or `resume`.
        """
        place = f"{_API}/" + "/".join(quote(part, safe="") for part in path.split("/", 1))
        if change:
            return await self._transport.post(f"{place}/{change}", {})
        if body is None:
            return await self._transport.get(place)
        call = Call(method="PUT", path=place, make_body=lambda: {"json": body}, safe=True)
        return await self._transport.json(call)

    def rules(self, kind: str) -> AsyncIterator[Any]:
        """All `types`, or the `tenants` for which something was set, with their rules."""
        return self._transport.all(f"{_API}/{kind}", {"limit": 200})

    async def workers(self) -> "Sequence[Worker]":
        """The workers now."""
        workers: Sequence[Worker] = (await self._transport.get(f"{_API}/workers"))["items"]
        return workers

    def limits(self) -> "AsyncIterator[SharedLimit | ModelLimit | BudgetLimit]":
        """The limits that handlers share, those of models, and budgets."""
        return self._transport.all(f"{_API}/limits", {"limit": 200})

    async def set_limit(self, name: str, body: Mapping[str, Any]) -> "SharedLimit":
        """Set one. `body` is as docs/http-api.md has it."""
        path = f"{_API}/limits/{quote(name)}"
        call = Call(method="PUT", path=path, make_body=lambda: {"json": body}, safe=True)
        limit: SharedLimit = await self._transport.json(call)
        return limit

    async def remove_limit(self, name: str) -> None:
        """Take one away."""
        await self._transport.json(Call(method="DELETE", path=f"{_API}/limits/{quote(name)}"))
