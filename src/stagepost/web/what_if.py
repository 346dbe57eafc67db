"""What a task would cost at models, before it is submitted."""

from typing import Annotated, Final

from fastapi import Path, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict

from stagepost.estimates import Guess, guessed, of_cost, of_tokens
from stagepost.llm.budgeting import Budgeting
from stagepost.llm.purses import Spender
from stagepost.web.answers import Operation, Strict, answer, identity_of, reads
from stagepost.web.call_shapes import dollars
from stagepost.web.parts import Parts
from stagepost.web.status import StatusReader

_MOST_BYTES: Final = 2**50


class UsualCost(TypedDict):
    """US dollars: the median of comparable tasks, and what nine of ten stay below."""

    usual: float
    high: float


class UsualTokens(TypedDict):
    """Tokens sent and received, in the same two figures."""

    usual: int
    high: int


class WhatIf(TypedDict):
    """What a task of a type with an input of so many bytes will take of models.

    It goes by `tasks` of that type and about that size which have called models and were completed;
    `cost` and `tokens` are null where there is none. `fits` says whether the high cost is left in
    each budget of the caller, null where it is unknown; `short` names the budgets in which it is
    not, or in which nothing is left.
    """

    type: str
    bytes: int
    tasks: int
    cost: UsualCost | None
    tokens: UsualTokens | None
    fits: bool | None
    short: list[str]


class WhatIfQuery(Strict):
    """The size of the input: its JSON and its files."""

    size: int = Field(default=0, alias="bytes", ge=0, le=_MOST_BYTES)


class WhatIfRoutes:
    """The route of estimates."""

    def __init__(self, parts: Parts, reader: StatusReader) -> None:
        self._parts = parts
        self._reader = reader
        self._budgeting = parts.budgeting()

    def operations(self) -> list[Operation]:
        """The routes."""
        return [reads("/api/v1/types/{type}/estimate", self.get, WhatIf, 404, 503)]

    async def get(
        self,
        request: Request,
        type_name: Annotated[str, Path(alias="type", max_length=63)],
        query: Annotated[WhatIfQuery, Query()],
    ) -> Response:
        """What a task would cost at models, and whether the budgets of the caller have room."""
        name = self._parts.app.get(type_name).name
        history = await self._reader.outlook.history()
        cost = guessed(history.get(of_cost(name), {}), query.size)
        tokens = guessed(history.get(of_tokens(name), {}), query.size)
        short = await self._short(request, name, 0 if cost is None else cost.high)
        found: WhatIf = {
            "type": name,
            "bytes": query.size,
            "tasks": 0 if cost is None else cost.by,
            "cost": _cost(cost),
            "tokens": None if tokens is None else {"usual": tokens.usual, "high": tokens.high},
            "fits": False if short else (None if cost is None else True),
            "short": short,
        }
        return answer(found)

    async def _short(self, request: Request, type_name: str, cost: int) -> list[str]:
        if self._budgeting is None:
            return []
        return await _short_of(self._budgeting, request, type_name, cost)


async def _short_of(budgeting: Budgeting, request: Request, type_name: str, cost: int) -> list[str]:
    caller = identity_of(request).caller
    spender = Spender(caller.tenant, caller.user, type_name, "new")
    rooms = await budgeting.room(spender)
    return [purse.limit.name for purse, left in rooms if left < max(1, cost)]


def _cost(guess: Guess | None) -> UsualCost | None:
    if guess is None:
        return None
    return {"usual": dollars(guess.usual), "high": dollars(guess.high)}
