"""How many tasks of a tenant may wait to start."""

from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import Path, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict

from stagepost.errors import NotFound
from stagepost.quota import Backlog, Quota
from stagepost.web import shapes
from stagepost.web.answers import (
    Operation,
    Page,
    Strict,
    answer,
    identity_of,
    reads,
    validated,
)
from stagepost.web.limits import read_json
from stagepost.web.parts import Parts
from stagepost.web.problems import invalid
from stagepost.web.schemas import Listed

_PATH: Final = "/api/v1/tenants/{tenant}/quotas"
_MOST: Final = 10_000_000
_NAME_MOST: Final = 128


class OwnQuotas(TypedDict):
    """The quotas of a tenant; `maxQueued` is null where any number of its tasks may wait."""

    tenant: str
    maxQueued: int | None


class Quotas(OwnQuotas):
    """A tenant's quotas as they count now; `own` is false where they are the default.

    `waiting` is how many of its tasks wait for their first start, of those that were submitted
    while it had a quota.
    """

    own: bool
    waiting: int


class QuotasBody(Strict):
    """The quotas of a tenant from now on; null lets any number wait."""

    max_queued: int | None = Field(ge=0, le=_MOST)


Tenant = Annotated[str, Path(min_length=1, max_length=_NAME_MOST)]


class QuotaRoutes:
    """The routes of quotas."""

    def __init__(self, parts: Parts) -> None:
        self._limits = parts.settings.limits
        self._quotas = parts.store.quotas

    def operations(self) -> Sequence[Operation]:
        """The routes."""
        return [
            reads("/api/v1/quotas", self.find, Listed[OwnQuotas]),
            reads(_PATH, self.get, Quotas),
            Operation(
                method="PUT",
                path=_PATH,
                endpoint=self.set,
                answers={200: Quotas},
                problems=(400, 409, 413, 415),
                body=QuotasBody,
            ),
            Operation(method="DELETE", path=_PATH, endpoint=self.unset, answers={204: None}),
        ]

    async def find(self, request: Request, query: Annotated[Page, Query()]) -> Response:
        """The quotas that tenants have of their own; a key sees those of its tenant."""
        mine = only_tenant(request)
        if mine is not None:
            backlog = await self._quotas.get(mine)
            return answer(shapes.page([_own(backlog.quota)] if backlog.own else [], None))
        found = await self._quotas.find(query.after or "", query.limit + 1)
        chosen = found[: query.limit]
        after = chosen[-1].tenant if len(found) > query.limit else None
        return answer(shapes.page([_own(quota) for quota in chosen], after))

    async def get(self, request: Request, tenant: Tenant) -> Response:
        """A tenant's quotas, and how many of its tasks wait."""
        if only_tenant(request) not in {None, named(tenant)}:
            raise NotFound(f"There is no tenant {tenant}.")
        return answer(_whole(await self._quotas.get(tenant)))

    async def set(self, request: Request, tenant: Tenant) -> Response:
        """Give a tenant quotas of its own; they count within a second."""
        body = validated(QuotasBody, await read_json(request, self._limits))
        await self._quotas.set(Quota(named(tenant), body.max_queued))
        return answer(_whole(await self._quotas.get(tenant)))

    async def unset(self, tenant: Tenant) -> Response:
        """Let the default quotas count for a tenant again."""
        await self._quotas.unset(named(tenant))
        return Response(status_code=204)


def only_tenant(request: Request) -> str | None:
    """The tenant whose quotas alone the caller sees; None for who sees all."""
    identity = identity_of(request)
    return None if identity.acts_for_all else identity.caller.tenant


def named(tenant: str) -> str:
    """A tenant's name, if it can be one."""
    if not tenant.isprintable() or tenant.strip() != tenant:
        raise invalid(
            "A tenant's name is printable, without a space around it.", parameter="tenant"
        )
    return tenant


def _own(quota: Quota) -> OwnQuotas:
    return {"tenant": quota.tenant, "maxQueued": quota.max_queued}


def _whole(backlog: Backlog) -> Quotas:
    return {**_own(backlog.quota), "own": backlog.own, "waiting": backlog.waiting}
