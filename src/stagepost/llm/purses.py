"""The budgets that a call takes from: its tenant's, its user's, its type's and its task's. Pure."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote

from stagepost.limit import Limit
from stagepost.llm.budgets import Amount, Budgets
from stagepost.llm.reserving import Payer, budget
from stagepost.records import Scope


class Spender(NamedTuple):
    """Whose a call is: its task, and that one's type, user and tenant."""

    tenant: str
    user: str
    type: str
    task: str


class Purse(NamedTuple):
    """One budget of one payer, and where the ledger has what was spent of it.

    `name` is the payer's own; `scope`, `type` and `task` say what counts in it.
    """

    limit: Limit
    payer: Payer
    name: str
    scope: Scope
    type: str | None = None
    task: str | None = None


def purses(
    budgets: Budgets, spender: Spender, own: Mapping[str, Sequence[Amount]] | None = None
) -> Sequence[Purse]:
    """All budgets that a spender's call takes from; `own` has the amounts of tenants set apart."""
    task = [
        Purse(budget("task", spender.task, each.dollars, each.calendar), "task", spender.task,
              Scope(spender.tenant), task=spender.task)
        for each in budgets.task
    ]  # fmt: skip
    return [
        *of_tenant(budgets, spender.tenant, own),
        *of_user(budgets, spender.tenant, spender.user),
        *of_type(budgets, spender.type),
        *task,
    ]


def of_tenant(
    budgets: Budgets, tenant: str, own: Mapping[str, Sequence[Amount]] | None = None
) -> Sequence[Purse]:
    """A tenant's budgets: those of its own, else those that each has."""
    found = (own or {}).get(tenant, budgets.tenants.get(tenant, budgets.tenant))
    return [
        Purse(budget("tenant", tenant, each.dollars, each.calendar), "tenant", tenant,
              Scope(tenant))
        for each in found
    ]  # fmt: skip


def of_user(budgets: Budgets, tenant: str, user: str) -> Sequence[Purse]:
    """A user's budgets."""
    name = f"{_part(tenant)}/{_part(user)}"
    return [
        Purse(budget("user", name, each.dollars, each.calendar), "user", user, Scope(tenant, user))
        for each in budgets.user
    ]


def of_type(budgets: Budgets, type_: str) -> Sequence[Purse]:
    """A type's budgets."""
    found = budgets.types.get(type_, budgets.type)
    return [
        Purse(budget("type", type_, each.dollars, each.calendar), "type", type_, Scope(None), type_)
        for each in found
    ]


def _part(name: str) -> str:
    # Two users must never share a name, whatever stands in it and in their tenants'.
    return quote(name, safe="@.-_")
