"""What tasks have spent on models."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from stagepost.remote.transport import Transport

if TYPE_CHECKING:
    # Types only: importing them would load the whole web layer into each command.
    from stagepost.web.call_schemas import CallItem, UsageReport

_API: Final = "/api/v1"


@dataclass(frozen=True, slots=True)
class UsageWhere:
    """Which usage; days are texts such as 2026-01-31."""

    first: str | None = None
    last: str | None = None
    by: str | None = None
    type: str | None = None
    tenant: str | None = None
    limit: int | None = None


class RemoteSpending:
    """Every verb raises Refused and Unreachable."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def usage(self, where: UsageWhere) -> "UsageReport":
        """Calls, tokens and money, summed up."""
        named = {
            "from": where.first,
            "to": where.last,
            "by": where.by,
            "type": where.type,
            "tenant": where.tenant,
            "limit": where.limit,
        }
        query = {name: value for name, value in named.items() if value is not None}
        report: UsageReport = await self._transport.get(f"{_API}/usage", query)
        return report

    def calls(self, task_id: str) -> "AsyncIterator[CallItem]":
        """A task's calls in the order in which they were begun."""
        path = f"{_API}/tasks/{quote(task_id, safe='')}/calls"
        return self._transport.all(path, {"limit": 200})
