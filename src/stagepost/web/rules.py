"""What an operator says of lanes, types and tenants: pauses, limits, weights."""

from collections.abc import Collection, Sequence
from typing import Annotated, Final

from fastapi import Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from stagepost.errors import NotFound, UnknownType
from stagepost.rules import MOST_CONCURRENCY, MOST_WEIGHT, Rule, RuleKind
from stagepost.web import shapes
from stagepost.web.answers import (
    Operation,
    Page,
    Strict,
    answer,
    identity_of,
    reads,
    sliced,
    validated,
)
from stagepost.web.fleet_schemas import LaneRule, TenantRule, TypeRule
from stagepost.web.limits import read_json
from stagepost.web.parts import Parts
from stagepost.web.schemas import Listed

_LANE: Final = "/api/v1/lanes/{lane}"
_TYPE: Final = "/api/v1/types/{type}"
_TENANT: Final = "/api/v1/tenants/{tenant}"
_LONGEST_TENANT: Final = 128
"""The tenant of the key that a store's first start prints."""


class LimitBody(Strict):
    """How many tasks run at once; null: any number, or for a type what its code says."""

    concurrency: int | None = Field(default=None, ge=0, le=MOST_CONCURRENCY)


class LaneBody(LimitBody):
    """A lane's rule. `weight` null: as the workers' settings say."""

    weight: int | None = Field(default=None, ge=1, le=MOST_WEIGHT)


class TenantBody(Strict):
    """A tenant's rule. What is left out is as it is for every tenant."""

    weight: int = Field(default=1, ge=1, le=MOST_WEIGHT)
    concurrency: int | None = Field(default=None, ge=0, le=MOST_CONCURRENCY)
    key_concurrency: int = Field(default=1, ge=1, le=MOST_CONCURRENCY)


class RuleRoutes:
    """The routes of rules. They are those of the installation, whoever's key asks."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._rules = parts.store.rules

    def operations(self) -> Sequence[Operation]:
        """The routes."""
        return [
            reads(_LANE, self.lane, LaneRule, 404),
            _puts(_LANE, self.change_lane, LaneBody, LaneRule),
            _posts(f"{_LANE}/pause", self.pause_lane, LaneRule),
            _posts(f"{_LANE}/resume", self.resume_lane, LaneRule),
            reads("/api/v1/types", self.types, Listed[TypeRule]),
            _puts(_TYPE, self.limit_type, LimitBody, TypeRule),
            _posts(f"{_TYPE}/pause", self.pause_type, TypeRule),
            _posts(f"{_TYPE}/resume", self.resume_type, TypeRule),
            reads("/api/v1/tenants", self.tenants, Listed[TenantRule]),
            reads(_TENANT, self.tenant, TenantRule, 404),
            _puts(_TENANT, self.change_tenant, TenantBody, TenantRule),
        ]

    # Lanes

    async def lane(self, lane: str) -> Response:
        """What holds for a lane."""
        name = self._known(lane, self._parts.settings.lanes)
        return answer(_lane(await self._rules.get(RuleKind.LANE, name)))

    async def change_lane(self, request: Request, lane: str) -> Response:
        """Set a lane's weight, and how many of its tasks run at once in the whole fleet."""
        name = self._known(lane, self._parts.settings.lanes)
        body = validated(LaneBody, await read_json(request, self._parts.settings.limits))
        rule = Rule(RuleKind.LANE, name, body.weight, body.concurrency)
        return answer(_lane(await self._rules.put(rule)))

    async def pause_lane(self, lane: str) -> Response:
        """Start no task of a lane; what runs goes on, and submits are accepted."""
        name = self._known(lane, self._parts.settings.lanes)
        return answer(_lane(await self._rules.pause(RuleKind.LANE, name, paused=True)))

    async def resume_lane(self, lane: str) -> Response:
        """Start the tasks of a lane again."""
        name = self._known(lane, self._parts.settings.lanes)
        return answer(_lane(await self._rules.pause(RuleKind.LANE, name, paused=False)))

    # Types

    async def types(self, query: Annotated[Page, Query()]) -> Response:
        """The task types, and what holds for each."""
        chosen, after = sliced(list(self._parts.app.types), str, query)
        rules = [await self._rules.get(RuleKind.TYPE, name) for name in chosen]
        return answer(shapes.page([self._type(rule) for rule in rules], after))

    async def limit_type(self, request: Request, type: str) -> Response:  # noqa: A002
        """Set how many tasks of a type run at once in the whole fleet."""
        name = self._type_name(type)
        body = validated(LimitBody, await read_json(request, self._parts.settings.limits))
        rule = Rule(RuleKind.TYPE, name, concurrency=body.concurrency)
        return answer(self._type(await self._rules.put(rule)))

    async def pause_type(self, type: str) -> Response:  # noqa: A002
        """Start no task of a type; what runs goes on, and submits are accepted."""
        rule = await self._rules.pause(RuleKind.TYPE, self._type_name(type), paused=True)
        return answer(self._type(rule))

    async def resume_type(self, type: str) -> Response:  # noqa: A002
        """Start the tasks of a type again."""
        rule = await self._rules.pause(RuleKind.TYPE, self._type_name(type), paused=False)
        return answer(self._type(rule))

    # Tenants

    async def tenants(self, request: Request, query: Annotated[Page, Query()]) -> Response:
        """The tenants for which something was set; a further tenant's key sees its own alone."""
        if not identity_of(request).acts_for_all:
            own = await self._rules.get(RuleKind.TENANT, identity_of(request).caller.tenant)
            return answer(shapes.page([] if own.silent else [_tenant(own)], None))
        found = await self._rules.find(RuleKind.TENANT, query.after or "", query.limit + 1)
        chosen = found[: query.limit]
        after = chosen[-1].name if len(found) > query.limit else None
        return answer(shapes.page([_tenant(rule) for rule in chosen], after))

    async def tenant(self, request: Request, tenant: str) -> Response:
        """What holds for a tenant, whether anything was set or not."""
        name = _tenant_name(tenant)
        if not identity_of(request).acts_for_all and name != identity_of(request).caller.tenant:
            raise NotFound(f"There is no tenant {name}.")
        return answer(_tenant(await self._rules.get(RuleKind.TENANT, name)))

    async def change_tenant(self, request: Request, tenant: str) -> Response:
        """Set a tenant's share of the lanes, and how many of its tasks run at once."""
        name = _tenant_name(tenant)
        body = validated(TenantBody, await read_json(request, self._parts.settings.limits))
        weight = None if body.weight == 1 else body.weight
        rule = Rule(RuleKind.TENANT, name, weight, body.concurrency, body.key_concurrency)
        return answer(_tenant(await self._rules.put(rule)))

    def _known(self, lane: str, lanes: Collection[str]) -> str:
        if lane not in lanes:
            raise NotFound(f"There is no such lane; there are: {', '.join(lanes)}.")
        return lane

    def _type_name(self, name: str) -> str:
        try:
            return self._parts.app.get(name).name
        except UnknownType as error:
            raise NotFound(str(error)) from error

    def _type(self, rule: Rule) -> TypeRule:
        known = self._parts.app.types[rule.name]
        return {
            "name": rule.name,
            "lane": known.lane,
            "paused": rule.paused,
            "concurrency": known.concurrency if rule.concurrency is None else rule.concurrency,
        }


def _puts(path: str, endpoint: object, body: type[Strict], shape: object) -> Operation:
    return Operation(
        method="PUT",
        path=path,
        endpoint=endpoint,  # type: ignore[arg-type]
        answers={200: shape},
        problems=(400, 404, 413, 415, 503),
        body=body,
    )


def _posts(path: str, endpoint: object, shape: object) -> Operation:
    return Operation(
        method="POST",
        path=path,
        endpoint=endpoint,  # type: ignore[arg-type]
        answers={200: shape},
        problems=(404, 503),
    )


def _tenant_name(tenant: str) -> str:
    if not (tenant.isprintable() and tenant.strip() == tenant and len(tenant) <= _LONGEST_TENANT):
        raise NotFound(
            f"No tenant has this name; one has 1 to {_LONGEST_TENANT} printable characters."
        )
    return tenant


def _lane(rule: Rule) -> LaneRule:
    return {
        "name": rule.name,
        "paused": rule.paused,
        "concurrency": rule.concurrency,
        "weight": rule.weight,
    }


def _tenant(rule: Rule) -> TenantRule:
    return {
        "tenant": rule.name,
        "weight": rule.weight or 1,
        "concurrency": rule.concurrency,
        "keyConcurrency": rule.key_concurrency,
    }
