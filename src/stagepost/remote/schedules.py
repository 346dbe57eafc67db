"""Schedules of a server."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from stagepost.remote.transport import Call, Transport

if TYPE_CHECKING:
    # Types only: importing them would load the whole web layer into each command.
    from stagepost.web.schedule_shapes import Backfilled, ScheduleItem
    from stagepost.web.schemas import Listed

_PATH: Final = "/api/v1/schedules"


class RemoteSchedules:
    """Every verb raises Refused and Unreachable. Instants are RFC 3339 texts."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def page(self, *, limit: int, after: str | None = None) -> "Listed[ScheduleItem]":
        """One page of them, oldest first."""
        page: Listed[ScheduleItem] = await self._transport.get(
            _PATH, {"limit": limit, "after": after}
        )
        return page

    async def create(self, body: Mapping[str, Any]) -> "ScheduleItem":
        """Begin one. `body` is as docs/http-api.md has it."""
        schedule: ScheduleItem = await self._send("POST", _PATH, body)
        return schedule

    async def show(self, schedule_id: str) -> "ScheduleItem":
        """One of them, with its next runs."""
        schedule: ScheduleItem = await self._transport.get(_one(schedule_id))
        return schedule

    async def change(self, schedule_id: str, body: Mapping[str, Any]) -> "ScheduleItem":
        """Change what `body` names of it."""
        schedule: ScheduleItem = await self._send("PATCH", _one(schedule_id), body)
        return schedule

    async def remove(self, schedule_id: str) -> None:
        """End it."""
        await self._transport.json(Call(method="DELETE", path=_one(schedule_id)))

    async def backfill(self, schedule_id: str, start: str, end: str) -> "Backfilled":
        """Make up the runs from `start` on and before `end`."""
        path = _one(schedule_id, "/backfill")
        made: Backfilled = await self._send("POST", path, {"from": start, "to": end})
        return made

    async def preview(
        self, cron: str, timezone: str, start: str | None, end: str | None, limit: int
    ) -> "Listed[str]":
        """When a cron expression would run."""
        query = {"cron": cron, "timezone": timezone, "from": start, "to": end, "limit": limit}
        page: Listed[str] = await self._transport.get(f"{_PATH}/preview", query)
        return page

    async def _send(self, method: str, path: str, body: Mapping[str, Any]) -> Any:
        # Sent once: a schedule that is begun twice would run twice.
        call = Call(method=method, path=path, make_body=lambda: {"json": body})
        return await self._transport.json(call)


def _one(schedule_id: str, part: str = "") -> str:
    return f"{_PATH}/{quote(schedule_id, safe='')}{part}"
