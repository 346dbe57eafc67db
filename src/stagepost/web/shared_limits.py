"""The limits that the whole fleet shares: how much of them is used, set one, take one away.

Beside those of handlers it tells those of models, which models.toml and their providers set, and
the budgets of whoever has spent something this month.
"""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from stagepost.errors import Conflict
from stagepost.limit import (
    DEFAULT_WINDOW,
    LONGEST_WINDOW,
    MOST_AT_ONCE,
    MOST_UNITS,
    SHORTEST_WINDOW,
    Limit,
)
from stagepost.limiter import LimitState
from stagepost.limiting import Rule
from stagepost.llm.purses import Purse
from stagepost.web import service_shapes, shapes
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
from stagepost.web.fleet_schemas import BudgetLimit, ModelLimit, SharedLimit
from stagepost.web.limits import read_json
from stagepost.web.model_limits import LentRule, model_limits
from stagepost.web.parts import Parts
from stagepost.web.problems import invalid
from stagepost.web.schemas import Listed
from stagepost.web.usage import seen_by

_ONE = "/api/v1/limits/{name:path}"
_MOST_SPENDERS = 300
"""Tenants, users and types whose budgets are told: those that have spent most."""


class LimitBody(Strict):
    """A limit: `units` in any window (of 60 s, if none is named), `atOnce` at a time, or both."""

    units: int | None = Field(default=None, ge=1, le=MOST_UNITS)
    window_seconds: float | None = Field(default=None, ge=SHORTEST_WINDOW, le=LONGEST_WINDOW)
    burst: int | None = Field(default=None, ge=1, le=MOST_UNITS)
    at_once: int | None = Field(default=None, ge=1, le=MOST_AT_ONCE)


class SharedLimitRoutes:
    """The routes of limits, which belong to no tenant."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._limiting = parts.limiting
        self._budgeting = parts.budgeting()

    def operations(self) -> Sequence[Operation]:
        """The routes."""
        return [
            reads("/api/v1/limits", self.find, Listed[SharedLimit | ModelLimit | BudgetLimit], 503),
            Operation(
                method="PUT",
                path=_ONE,
                endpoint=self.put,
                answers={200: SharedLimit, 201: SharedLimit},
                problems=(400, 404, 409, 413, 415, 422, 503),
                body=LimitBody,
            ),
            Operation(
                method="DELETE",
                path=_ONE,
                endpoint=self.drop,
                answers={204: None},
                problems=(404, 409, 503),
            ),
        ]

    async def find(self, request: Request, query: Annotated[Page, Query()]) -> Response:
        """The limits by name, models' and budgets among them: what each allows, and its use now.

        Of budgets those that the caller may see the spending of.
        """
        self._limiting.forget()
        rules = (await self._limiting.rules()).values()
        lent, purses = model_limits(self._parts.models), await self._purses(request)
        limits: list[Rule | LentRule | Purse] = [*rules, *lent, *purses]
        chosen, after = sliced(limits, lambda each: each.limit.name, query)
        states = await self._limiting.limiter.state([each.limit for each in chosen])
        items = [_shown(each, state) for each, state in zip(chosen, states, strict=True)]
        return answer(shapes.page(items, after))

    async def _purses(self, request: Request) -> Sequence[Purse]:
        scope = seen_by(identity_of(request), None)
        if self._budgeting is None or scope is None:
            return ()
        return await self._budgeting.in_use(scope, _MOST_SPENDERS)

    async def put(self, request: Request, name: str) -> Response:
        """Set a limit. It holds in every process within about a second."""
        body = validated(LimitBody, await read_json(request, self._parts.settings.limits))
        try:
            window = body.window_seconds or DEFAULT_WINDOW
            limit = Limit(name, body.units, window, body.burst, body.at_once)
        except ValueError as error:
            raise invalid(str(error), pointer="#") from error
        new = await self._parts.store.limits.put(limit)
        self._limiting.forget()
        (state,) = await self._limiting.limiter.state([limit])
        shown = _shown(Rule(limit, "api"), state)
        return answer(shown, 201 if new else 200)

    async def drop(self, name: str) -> Response:
        """Take away a limit that was set here; one of the settings of that name holds again."""
        self._limiting.forget()
        rule = (await self._limiting.rules()).get(name)
        if rule is not None and rule.source == "settings":
            raise Conflict(f'The limit "{name}" stands in STAGEPOST_LIMITS; take it away there.')
        await self._parts.store.limits.drop(name)
        self._limiting.forget()
        return Response(status_code=204)


def _shown(
    each: Rule | LentRule | Purse, state: LimitState
) -> SharedLimit | ModelLimit | BudgetLimit:
    match each:
        case Rule(limit, source):
            return service_shapes.shared_limit(limit, source, state)
        case LentRule(limit, model):
            return service_shapes.model_limit(limit, model, state)
        case Purse():
            return service_shapes.budget_limit(each, state)
