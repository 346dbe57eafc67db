"""What was spent on models, by whom and on what."""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Annotated, Any, Final

from fastapi import Query
from pydantic import BeforeValidator, Field, WithJsonSchema
from starlette.requests import Request
from starlette.responses import Response

from stagepost.calls import PAGE_MOST
from stagepost.records import Scope
from stagepost.spending import GROUPS, Group, Spent, UsageQuery, UsageSum
from stagepost.web.answers import Operation, Strict, answer, identity_of, reads
from stagepost.web.call_schemas import UsageReport
from stagepost.web.call_shapes import spending, usage_sums
from stagepost.web.exchange import Identity
from stagepost.web.parts import Parts
from stagepost.web.problems import invalid
from stagepost.web.roles import Role

_DAYS: Final = 7
"""Days that are told of where none is named: today and those before it."""
_DAYS_MOST: Final = 366
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_GROUP: Final = f"({'|'.join(GROUPS)})"


def _date(value: Any) -> date:
    if isinstance(value, str) and _DATE.fullmatch(value):
        return date.fromisoformat(value)
    raise ValueError("write a day such as 2026-01-31")


Day = Annotated[date, BeforeValidator(_date), WithJsonSchema({"type": "string", "format": "date"})]


class UsageList(Strict):
    """Which usage: of which days of UTC, summed up by what."""

    first: Day | None = Field(
        default=None, alias="from", description="The first day; six before the last if left out."
    )
    last: Day | None = Field(
        default=None, alias="to", description="The last day, which is counted; else today."
    )
    by: str | None = Field(
        default=None,
        pattern=rf"^{_GROUP}(,{_GROUP})*$",
        max_length=64,
        description="day, tenant, user, type, model, or some of them with commas between.",
    )
    type: str | None = Field(default=None, min_length=1, max_length=63)
    tenant: str | None = Field(default=None, min_length=1, max_length=128)
    limit: int = Field(default=500, ge=1, le=PAGE_MOST - 1)


class UsageRoutes:
    """The route of usage."""

    def __init__(self, parts: Parts) -> None:
        self._calls = parts.store.calls
        self._clock = parts.clock

    def operations(self) -> Sequence[Operation]:
        """The routes."""
        return [reads("/api/v1/usage", self.find, UsageReport)]

    async def find(self, request: Request, query: Annotated[UsageList, Query()]) -> Response:
        """Calls, tokens and US dollars that tasks have spent on models, the latest day first.

        A call counts on the day on which it was begun, by UTC. An admin of the first tenant sees
        all tenants, or the one that `tenant` names.
        """
        first, last = self._days(query)
        scope = seen_by(identity_of(request), query.tenant)
        sums = await self._sums(scope, query, first, last)
        report: UsageReport = {
            "from": first.isoformat(),
            "to": last.isoformat(),
            "total": spending(await self._total(scope, query, first, last)),
            "items": [usage_sums(each) for each in sums[: query.limit]],
            "next": None,
            "complete": len(sums) <= query.limit,
        }
        return answer(report)

    async def _sums(
        self, scope: Scope | None, query: UsageList, first: date, last: date
    ) -> Sequence[UsageSum]:
        if scope is None or query.by is None:
            return ()
        named = set(query.by.split(","))
        by: tuple[Group, ...] = tuple(name for name in GROUPS if name in named)
        asked = UsageQuery(first, last, by, query.type, query.limit + 1)
        return await self._calls.usage(scope, asked)

    async def _total(self, scope: Scope | None, query: UsageList, first: date, last: date) -> Spent:
        if scope is None:
            return Spent()
        found = await self._calls.usage(scope, UsageQuery(first, last, type=query.type))
        return found[0].spent if found else Spent()

    def _days(self, query: UsageList) -> tuple[date, date]:
        today = datetime.fromtimestamp(self._clock.now() / 1_000, UTC).date()
        last = query.last or today
        first = query.first or date.fromordinal(max(1, last.toordinal() - _DAYS + 1))
        if first > last:
            raise invalid("from is no later day than to.", parameter="from")
        if (last - first).days >= _DAYS_MOST:
            raise invalid(f"At most {_DAYS_MOST} days are summed up at once.", parameter="from")
        return first, last


def seen_by(identity: Identity, tenant: str | None) -> Scope | None:
    """Whose spending the caller sees of what it asks for; None for nobody's."""
    seen = identity.by_id
    if identity.acts_for_all and identity.role >= Role.ADMIN and seen.user is None:
        seen = Scope(None) if identity.key_hash is not None else seen
    if tenant is None or tenant == seen.tenant:
        return seen
    return Scope(tenant) if seen.tenant is None else None
