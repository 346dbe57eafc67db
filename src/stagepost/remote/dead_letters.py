"""Dead letters of a server, and what becomes of them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from stagepost.remote.queries import Where
from stagepost.remote.transport import Call, Transport

if TYPE_CHECKING:
    # Types only: importing them would load the whole web layer into each command.
    from stagepost.web.dead_letter_schemas import DryRun, Group, Matched, Redrive, Redriven
    from stagepost.web.schemas import DeadLetter, Listed

_API: Final = "/api/v1"


class RemoteDeadLetters:
    """Every verb raises Refused and Unreachable."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def page(
        self, where: Where, *, limit: int, after: str | None = None
    ) -> "Listed[DeadLetter]":
        """One page of the tasks that need a person."""
        page: Listed[DeadLetter] = await self._transport.get(
            f"{_API}/dead-letters", {**where.conditions(), "limit": limit, "after": after}
        )
        return page

    async def groups(self, where: Where, by: str) -> "Sequence[Group]":
        """Their counts by `failureKind`, `type` or both with a comma."""
        grouped = await self._transport.get(
            f"{_API}/dead-letters", {**where.conditions(), "groupBy": by}
        )
        groups: Sequence[Group] = grouped["items"]
        return groups

    async def redrive(self, chosen: Mapping[str, Any]) -> "Redriven | DryRun":
        """Send dead letters back. `chosen` is the body as docs/http-api.md has it."""
        redriven: Redriven | DryRun = await self._transport.post(
            f"{_API}/dead-letters/redrive", chosen
        )
        return redriven

    async def discard(self, chosen: Mapping[str, Any]) -> "Matched":
        """Give dead letters up."""
        discarded: Matched = await self._transport.post(f"{_API}/dead-letters/discard", chosen)
        return discarded

    async def progress(self, redrive_id: str) -> "Redrive":
        """How far a redrive is."""
        found: Redrive = await self._transport.get(_redrive(redrive_id))
        return found

    async def stop(self, redrive_id: str) -> "Redrive":
        """Send no further dead letter back."""
        stopped: Redrive = await self._transport.json(
            Call(method="POST", path=_redrive(redrive_id, "/stop"))
        )
        return stopped


def _redrive(redrive_id: str, part: str = "") -> str:
    return f"{_API}/redrives/{quote(redrive_id, safe='')}{part}"
