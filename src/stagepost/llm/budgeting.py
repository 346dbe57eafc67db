"""The budgets of calls as they count now: whose they are, and what was spent of them before.

A limiter may have been begun anew, and then knows nothing of what was spent. So before a budget is
first used here, the ledger says what has gone out of it in its period, and the limiter is told. The
ledger counts what is UNKNOWN, so nothing that a process has sent before it died is left out.
"""

import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Final

from stagepost.clock import Clock
from stagepost.errors import Retryable
from stagepost.limit import Calendar, Limit
from stagepost.limiter import Limiter, Notice
from stagepost.llm.budgets import Amount, Budgets, periodic
from stagepost.llm.purses import Purse, Spender, of_tenant, of_type, of_user, purses
from stagepost.records import Scope
from stagepost.spending import Group, UsageQuery
from stagepost.store import Store

_log = logging.getLogger("stagepost.llm")

_MOST_KNOWN: Final = 10_000
"""Budgets of which it is remembered here that the limiter knows what was spent."""
_FRESH: Final = 1.0  # seconds for which what was read of the store holds
_DAY: Final = 86_400_000  # ms
_APART: Final = 3_000
"""ms that this clock and the limiter's may differ: so near to its turn nothing is told of a period,
or what was spent in the old one might count in the new."""


class Budgeting:
    """One event loop's. Raises what the store and the limiter raise."""

    def __init__(self, limiter: Limiter, store: Store, budgets: Budgets, clock: Clock) -> None:
        self._limiter = limiter
        self._store = store
        self._budgets = budgets
        self._clock = clock
        self._known: OrderedDict[str, None] = OrderedDict()
        self._own: Mapping[str, Sequence[Amount]] = {}
        self._read_at: float | None = None

    async def limits(self, spender: Spender, claim: str) -> Sequence[Limit]:
        """The budgets that a call takes from, once the limiter knows what was spent of them.

        `claim` is that of the task: of its own budget the ledger is asked in each, since another
        worker may have forgotten it meanwhile.
        """
        found = purses(self._budgets, spender, await self._tenants())
        for purse in found:
            await self._know(purse, claim if purse.task is not None else "")
        return [purse.limit for purse in found]

    async def over(self, spender: Spender) -> None:
        """The task is over: its own budget is not asked for any more."""
        mine = [each.limit for each in purses(self._budgets, spender) if each.task is not None]
        if not mine:
            return
        try:
            await self._limiter.forget(mine)
        except Retryable as error:
            # Its book stays behind, and harms nobody.
            _log.warning("a task's budget can't be forgotten: %s", error)

    async def room(self, spender: Spender) -> Sequence[tuple[Purse, int]]:
        """The budgets of a new task, and what is left of each in millionths of a US dollar."""
        found = purses(self._budgets, spender, await self._tenants())
        for purse in found:
            if purse.task is None:
                await self._know(purse, "")
        states = await self._limiter.state([purse.limit for purse in found])
        return [
            (purse, (purse.limit.units or 0) - state.used)
            for purse, state in zip(found, states, strict=True)
        ]

    async def in_use(self, scope: Scope, limit: int) -> Sequence[Purse]:
        """Those of whoever has spent something this month, that a scope may see; by their names.

        A type's budget belongs to no tenant, so only who sees all of them sees it. At most `limit`
        of each kind.
        """
        found: list[Purse] = []
        own = await self._tenants()
        for spent in await self._spenders(scope, ("tenant", "user"), limit):
            if spent[0] is not None and spent[1] is not None:
                found += of_user(self._budgets, spent[0], spent[1])
        if scope.user is None:
            for tenant, _, _ in await self._spenders(scope, ("tenant",), limit):
                found += () if tenant is None else of_tenant(self._budgets, tenant, own)
        if scope.tenant is None:
            for _, _, type_ in await self._spenders(scope, ("type",), limit):
                found += () if type_ is None else of_type(self._budgets, type_)
        for purse in found:
            await self._know(purse, "")
        return sorted(found, key=lambda purse: purse.limit.name)

    async def _tenants(self) -> Mapping[str, Sequence[Amount]]:
        """What was set for tenants through the API, at most a second old."""
        now = self._clock.monotonic()
        if self._read_at is None or now - self._read_at >= _FRESH:
            found = await self._store.budgets.all()
            self._own = {each.tenant: periodic(each.amounts) for each in found}
            self._read_at = now
        return self._own

    async def _spenders(
        self, scope: Scope, by: tuple[Group, ...], limit: int
    ) -> Sequence[tuple[str | None, str | None, str | None]]:
        today = self._today()
        query = UsageQuery(today.replace(day=1), today, by, limit=limit)
        found = await self._store.calls.usage(scope, query)
        return [(each.tenant, each.user, each.type) for each in found]

    async def _know(self, purse: Purse, claim: str) -> None:
        key = f"{purse.limit.name} {claim}"
        if key in self._known:
            self._known.move_to_end(key)
            return
        if purse.task is None:
            await self._away_from_midnight()
        spent = await self._spent(purse)
        await self._limiter.heed([Notice(purse.limit, spent=spent)])
        self._known[key] = None
        if len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)

    async def _away_from_midnight(self) -> None:
        left = _DAY - self._clock.now() % _DAY
        if left <= _APART:
            await self._clock.sleep((left + _APART) / 1000)

    async def _spent(self, purse: Purse) -> int:
        calls = self._store.calls
        if purse.task is not None:
            return (await calls.spent(purse.task, purse.scope)).cost
        today = self._today()
        first = today if purse.limit.calendar is Calendar.DAY else today.replace(day=1)
        found = await calls.usage(purse.scope, UsageQuery(first, today, type=purse.type))
        return found[0].spent.cost if found else 0

    def _today(self) -> date:
        return datetime.fromtimestamp(self._clock.now() / 1_000, UTC).date()
