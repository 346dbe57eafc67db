"""What a tenant may spend on models."""

from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict

from stagepost.errors import NotFound
from stagepost.llm.budgets import NO_BUDGETS, Budgets, periodic
from stagepost.quota import OwnBudgets
from stagepost.records import Filter, Scope
from stagepost.task import Status
from stagepost.web import shapes
from stagepost.web.answers import Operation, Page, Strict, answer, reads, sliced, validated
from stagepost.web.limits import read_json
from stagepost.web.parts import Parts
from stagepost.web.problems import invalid
from stagepost.web.quotas import Tenant, named, only_tenant
from stagepost.web.schemas import Listed

_PATH: Final = "/api/v1/tenants/{tenant}/budgets"
_MOST: Final = 2  # one for each period
_WAKES: Final = 1_000
"""Tasks that look at a changed budget at once; the others do within an hour."""


class OwnTenantBudgets(TypedDict):
    """The budgets of a tenant, such as `20/day` and `300/month`, in US dollars; none: any sum."""

    tenant: str
    budgets: list[str]


class TenantBudgets(OwnTenantBudgets):
    """A tenant's budgets as they count now; `own` is false where they are those of models.toml."""

    own: bool


class BudgetsBody(Strict):
    """The budgets of a tenant from now on: US dollars and `day` or `month`; none lets any sum."""

    budgets: list[Annotated[str, Field(max_length=40)]] = Field(max_length=_MOST)


class BudgetRoutes:
    """The routes of budgets."""

    def __init__(self, parts: Parts) -> None:
        self._limits = parts.settings.limits
        self._store = parts.store
        self._clock = parts.clock
        self._default: Budgets = NO_BUDGETS if parts.models is None else parts.models.budgets

    def operations(self) -> Sequence[Operation]:
        """The routes."""
        return [
            reads("/api/v1/budgets", self.find, Listed[OwnTenantBudgets]),
            reads(_PATH, self.get, TenantBudgets),
            Operation(
                method="PUT",
                path=_PATH,
                endpoint=self.set,
                answers={200: TenantBudgets},
                problems=(400, 409, 413, 415),
                body=BudgetsBody,
            ),
            Operation(method="DELETE", path=_PATH, endpoint=self.unset, answers={204: None}),
        ]

    async def find(self, request: Request, query: Annotated[Page, Query()]) -> Response:
        """The budgets that were set for tenants here; a key sees those of its tenant."""
        mine = only_tenant(request)
        found = [each for each in await self._store.budgets.all() if mine in {None, each.tenant}]
        chosen, after = sliced(found, lambda each: each.tenant, query)
        return answer(shapes.page([_own(each) for each in chosen], after))

    async def get(self, request: Request, tenant: Tenant) -> Response:
        """A tenant's budgets as they count now. What is spent of them stands in the limits."""
        if only_tenant(request) not in {None, named(tenant)}:
            raise NotFound(f"There is no tenant {tenant}.")
        return answer(await self._whole(tenant))

    async def set(self, request: Request, tenant: Tenant) -> Response:
        """Give a tenant budgets of its own, instead of those of models.toml.

        They count within a second; tasks that wait for one look again then.
        """
        body = validated(BudgetsBody, await read_json(request, self._limits))
        try:
            amounts = tuple(each.words for each in periodic(body.budgets))
        except ValueError as error:
            raise invalid(
                f"{str(error)[:1].upper()}{str(error)[1:]}.", pointer="#/budgets"
            ) from error
        await self._store.budgets.set(OwnBudgets(named(tenant), amounts))
        await self._wake(tenant)
        return answer(await self._whole(tenant))

    async def unset(self, tenant: Tenant) -> Response:
        """Let the budgets of models.toml count for a tenant again."""
        await self._store.budgets.unset(named(tenant))
        await self._wake(tenant)
        return Response(status_code=204)

    async def _whole(self, tenant: str) -> TenantBudgets:
        found = [each for each in await self._store.budgets.all() if each.tenant == tenant]
        if found:
            return {**_own(found[0]), "own": True}
        default = self._default.tenants.get(tenant, self._default.tenant)
        return {"tenant": tenant, "budgets": [each.words for each in default], "own": False}

    async def _wake(self, tenant: str) -> None:
        where = Filter(statuses=(Status.WAITING,), limit=_WAKES)
        waiting = [
            task.id
            for task in await self._store.find(Scope(tenant), where)
            if task.wait is not None and task.wait.kind == "budget"
        ]
        if waiting:
            # Workers read the budgets once a second: before that they would wait again.
            await self._clock.sleep(1.1)
            await self._store.limits.wake(waiting)


def _own(budgets: OwnBudgets) -> OwnTenantBudgets:
    return {"tenant": budgets.tenant, "budgets": list(budgets.amounts)}
