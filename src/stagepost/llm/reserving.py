"""What a call of a model takes of its limits and budgets, and what it has used of them. Pure.

One reservation holds the model's requests (with how many at once), its tokens, the tenant's share
of them, and the budgets of whoever pays.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple
from urllib.parse import quote

from stagepost.limit import MOST_UNITS, Calendar, Limit, Pace
from stagepost.limiter import Charge, Notice
from stagepost.llm.catalogue import DEFAULT_LIMITS, Model, Price
from stagepost.llm.dialect import Dialect
from stagepost.llm.told import Told, What

_AZURE_PARTS: Final = 6
"""Azure counts requests in parts of a minute, a sixth of a minute's in each."""
_LONGEST: Final = 120
"""Characters of a name in a limit's; a longer one is known by its digest."""

Payer = Literal["tenant", "user", "type", "task"]


class Need(NamedTuple):
    """Tokens that a call will send, and that its answer may have at most."""

    input: int
    output: int


class Usage(NamedTuple):
    """Tokens that a call has used; of the input so many were read from the provider's cache."""

    input: int
    output: int
    cached: int = 0


def limits_of(model: Model) -> Mapping[What, Limit]:
    """What the model's provider lends in its minute.

    What models.toml does not name is limited only by what the provider tells.
    """
    named = model.limits
    per_minute = {
        What.REQUESTS: named.requests_per_minute,
        What.TOKENS: named.tokens_per_minute,
        What.INPUT: named.input_tokens_per_minute,
        What.OUTPUT: named.output_tokens_per_minute,
    }
    found = {
        what: _lent(model, what, units)
        for what, units in per_minute.items()
        if units is not None or what in _told_by(model)
    }
    found[What.REQUESTS] = _requests(model, named.requests_per_minute)
    return found


def tenants_share(model: Model, tenant: str, share: float) -> Limit:
    """The part of the model's tokens, or else of its requests, that one tenant may use."""
    what, whole = _shared(limits_of(model))
    units = max(1, math.floor((whole.units or 1) * share))
    return Limit(
        f"share:{_known_as(tenant)}:{model.name}:{what}",
        units,
        whole.window,
        pace=Pace(1.0, model.charge),
    )


def budget(payer: Payer, name: str, dollars: float, calendar: Calendar) -> Limit:
    """What may be spent for a tenant, a user, a type or a task; a user's name has its tenant's."""
    units = max(1, math.floor(dollars * 1_000_000))
    return Limit(f"budget:{payer}/{_known_as(name)}:{calendar}", units, calendar=calendar)


def is_budget(name: str) -> bool:
    """Whether it is a budget that a verdict speaks of."""
    return name.startswith("budget:")


def cost_of(price: Price, input_tokens: int, output_tokens: int) -> int:
    """In millionths of a US dollar, rounded up."""
    # So many dollars for a million tokens are as many millionths for one.
    return math.ceil(round(input_tokens * price.input + output_tokens * price.output, 6))


def charges(
    limits: Mapping[What, Limit], need: Need, *, cost: int = 0, more: Sequence[Limit] = ()
) -> Sequence[Charge]:
    """What a call reserves: of each of the model's limits, and of `more`.

    Those are the tenant's share and the budgets; `cost` is what the call may cost at most, in
    millionths of a US dollar. A call that costs nothing takes nothing of the budgets.
    """
    found = [Charge(limit, max(1, _units(what, need))) for what, limit in limits.items()]
    for limit in more:
        units = cost if limit.calendar is not None else _units(_what_of(limit), need)
        if units > 0:
            found.append(Charge(limit, units))
    return found


def used(
    reserved: Sequence[Charge],
    usage: Usage,
    *,
    cost: int,
    most: int,
    dialect: Dialect = Dialect.OTHER,
) -> Mapping[str, int]:
    """What an answered call counts with each limit by its name, to settle it with.

    Where the provider counts what a call might use, that is what it has sent, of which more was
    reserved to be sure, and the `most` tokens that its answer could have.
    """
    # Anthropic does not count what was read from its cache.
    cached = usage.cached if dialect is Dialect.ANTHROPIC else 0
    counted = Need(max(0, usage.input - cached), usage.output)
    might = Need(counted.input, max(most, usage.output))
    return _counted(reserved, counted, might, cost)


def unused(reserved: Sequence[Charge]) -> Mapping[str, int]:
    """What a call without an answer counts, that nobody can have charged for.

    Where the provider counts what a call might use, it may have counted all of that.
    """
    return _counted(reserved, Need(0, 0), None, 0)


def notices(
    model: Model, limits: Mapping[What, Limit], told: Mapping[What, Told]
) -> Sequence[Notice]:
    """What the headers of an answer tell of the limits; only of use as soon as it has come."""
    found = []
    for what, limit in limits.items():
        if (of_it := told.get(what)) is None:
            continue
        if what is What.REQUESTS and _counts_in_tens(model):
            # Whether it tells a minute's or ten seconds' is not documented.
            of_it = Told(None, of_it.left)
        found.append(Notice(limit, of_it.most, of_it.left, of_it.whole_in))
    return found


def refused(limits: Mapping[What, Limit], wait: float) -> Sequence[Notice]:
    """The provider had too much, or has too much to do: slower, and a pause of so many seconds."""
    return [Notice(limit, slower=True, pause=wait) for limit in limits.values()]


def _counted(
    reserved: Sequence[Charge], has: Need, might: Need | None, cost: int
) -> Mapping[str, int]:
    found = {}
    for limit, _ in reserved:
        by_might = limit.pace is not None and limit.pace.charge == "reserved"
        counted = might if by_might else has
        if limit.calendar is not None:
            found[limit.name] = cost
        elif counted is not None:
            found[limit.name] = _units(_what_of(limit), counted)
    return found


def _lent(model: Model, what: What, units: int | None) -> Limit:
    name, pace = f"model:{model.name}:{what}", Pace(charge=model.charge)
    return Limit(name, units or MOST_UNITS, model.provider.minute, pace=pace)


def _requests(model: Model, units: int | None) -> Limit:
    name, at_once = f"model:{model.name}:{What.REQUESTS}", model.limits.concurrency
    pace = Pace(charge=model.charge, rises=model.limits is DEFAULT_LIMITS)
    minute = model.provider.minute
    if units is not None and _counts_in_tens(model):
        part = minute / _AZURE_PARTS
        return Limit(name, units // _AZURE_PARTS, part, at_once=at_once, pace=pace)
    return Limit(name, units or MOST_UNITS, minute, at_once=at_once, pace=pace)


def _counts_in_tens(model: Model) -> bool:
    enough = (model.limits.requests_per_minute or 0) >= 60
    return enough and model.provider.speaks is Dialect.AZURE


def _told_by(model: Model) -> Sequence[What]:
    if model.provider.kind == "anthropic":
        return (What.INPUT, What.OUTPUT)
    return (What.TOKENS,)


def _shared(limits: Mapping[What, Limit]) -> tuple[What, Limit]:
    for what in (What.TOKENS, What.INPUT):
        if what in limits and limits[what].units != MOST_UNITS:
            return what, limits[what]
    return What.REQUESTS, limits[What.REQUESTS]


def _what_of(limit: Limit) -> What:
    return What(limit.name.rpartition(":")[2])


def _units(what: What, need: Need) -> int:
    match what:
        case What.REQUESTS:
            return 1
        case What.TOKENS:
            return need.input + need.output
        case What.INPUT:
            return need.input
        case What.OUTPUT:
            return need.output


def _known_as(name: str) -> str:
    quoted = quote(name, safe="/@.-_")
    if len(quoted) <= _LONGEST:
        return quoted
    return hashlib.sha256(name.encode()).hexdigest()
