"""A model's limits as charges, and how they are settled."""

from collections import defaultdict
from typing import Any

import pytest

from stagepost.limit import MOST_UNITS, Calendar, Limit, Pace
from stagepost.limiter import Charge, Notice, Reservation
from stagepost.limiters import decision
from stagepost.limiters.account import Account
from stagepost.limiters.decision import Asked
from stagepost.llm.catalogue import Catalogue, Model, Price
from stagepost.llm.dialect import Dialect
from stagepost.llm.reserving import (
    Need,
    Usage,
    budget,
    charges,
    cost_of,
    is_budget,
    limits_of,
    notices,
    refused,
    tenants_share,
    unused,
    used,
)
from stagepost.llm.told import Told, What

CATALOGUE = Catalogue.parse("""
[providers.main]
kind = "openai"
[providers.claude]
kind = "anthropic"
[providers.cloud]
kind = "openai"
base_url = "https://ours.openai.azure.com/openai/v1"
[limits."main/large"]
requests_per_minute = 500
tokens_per_minute = 200_000
concurrency = 50
[limits."claude/large"]
requests_per_minute = 50
input_tokens_per_minute = 30_000
output_tokens_per_minute = 8_000
[limits."main/Org/Odd:free"]
concurrency = 2
charge = "actual"
[limits."cloud/large"]
requests_per_minute = 120
tokens_per_minute = 20_000
""")
NEED = Need(1_000, 500)


def model(name: str) -> Model:
    return CATALOGUE.model(name)


def units(reserved: Any) -> dict[str, int]:
    return {charge.limit.name: charge.units for charge in reserved}


def test_a_model_of_openai_is_limited_by_requests_and_tokens() -> None:
    limits = limits_of(model("main/large"))
    pace = Pace(charge="reserved")
    assert limits == {
        What.REQUESTS: Limit("model:main/large:requests", 500, at_once=50, pace=pace),
        What.TOKENS: Limit("model:main/large:tokens", 200_000, pace=pace),
    }
    assert units(charges(limits, NEED)) == {
        "model:main/large:requests": 1,
        "model:main/large:tokens": 1_500,
    }


def test_a_model_of_anthropic_is_limited_by_input_and_output_apart() -> None:
    limits = limits_of(model("claude/large"))
    assert {what: limit.units for what, limit in limits.items()} == {
        What.REQUESTS: 50,
        What.INPUT: 30_000,
        What.OUTPUT: 8_000,
    }
    assert all(limit.pace == Pace(charge="actual") for limit in limits.values())
    reserved = charges(limits, NEED)
    assert units(reserved) == {
        "model:claude/large:requests": 1,
        "model:claude/large:input-tokens": 1_000,
        "model:claude/large:output-tokens": 500,
    }
    settled = used(
        reserved, Usage(1_100, 40, cached=600), cost=0, most=500, dialect=Dialect.ANTHROPIC
    )
    assert list(settled.values()) == [1, 500, 40]
    assert list(used(reserved, Usage(1_100, 40, 600), cost=0, most=500).values()) == [1, 1_100, 40]


def test_where_the_provider_counts_what_a_call_might_use_only_the_estimate_is_mended() -> None:
    reserved = charges(limits_of(model("main/large")), NEED)
    assert list(used(reserved, Usage(900, 40), cost=0, most=500).values()) == [1, 1_400]
    assert list(used(reserved, Usage(900, 700), cost=0, most=500).values()) == [1, 1_600]


def test_a_call_without_an_answer_may_have_counted_as_it_was_reserved() -> None:
    assert unused(charges(limits_of(model("main/large")), NEED)) == {}
    assert list(unused(charges(limits_of(model("claude/large")), NEED)).values()) == [1, 0, 0]


def test_of_a_model_of_which_nothing_is_said_the_provider_is_believed() -> None:
    limits = limits_of(model("main/new"))
    requests, tokens = limits[What.REQUESTS], limits[What.TOKENS]
    assert (requests.units, requests.at_once) == (60, 10)
    assert requests.pace == Pace(rises=True)
    assert tokens.units == MOST_UNITS


def test_a_model_with_a_number_at_once_alone_has_no_rate_until_one_is_told() -> None:
    limits = limits_of(model("main/Org/Odd:free"))
    requests = limits[What.REQUESTS]
    assert requests.name == "model:main/Org/Odd:free:requests"
    assert (requests.units, requests.at_once) == (MOST_UNITS, 2)
    assert requests.pace == Pace(charge="actual")


def test_azure_counts_requests_in_ten_seconds() -> None:
    cloud = model("cloud/large")
    limits = limits_of(cloud)
    assert (limits[What.REQUESTS].units, limits[What.REQUESTS].window) == (20, 10)
    assert (limits[What.TOKENS].units, limits[What.TOKENS].window) == (20_000, 60)
    told = {What.REQUESTS: Told(120, 19), What.TOKENS: Told(20_000, 19_913, 1.0)}
    assert notices(cloud, limits, told) == [
        Notice(limits[What.REQUESTS], None, 19),
        Notice(limits[What.TOKENS], 20_000, 19_913, 1.0),
    ]


def test_a_simulated_providers_minute_may_be_shorter() -> None:
    fast = Catalogue.parse("""
[providers.sim]
kind = "openai"
minute = 6
[providers.cloud]
kind = "openai"
dialect = "azure"
minute = 6
[limits."sim/large"]
requests_per_minute = 500
[limits."cloud/large"]
requests_per_minute = 120
""")
    limits = limits_of(fast.model("sim/large"))
    assert {limit.window for limit in limits.values()} == {6.0}
    assert limits_of(fast.model("cloud/large"))[What.REQUESTS].window == 1.0
    assert tenants_share(fast.model("sim/large"), "acme", 0.5).window == 6.0


@pytest.mark.parametrize(
    ("name", "limit", "units"),
    [
        ("main/large", "share:acme:main/large:tokens", 50_000),
        ("claude/large", "share:acme:claude/large:input-tokens", 7_500),
        ("main/new", "share:acme:main/new:requests", 15),
    ],
)
def test_a_tenants_share_is_of_tokens_or_else_of_requests(
    name: str, limit: str, units: int
) -> None:
    share = tenants_share(model(name), "acme", 0.25)
    assert (share.name, share.units) == (limit, units)
    reserved = charges(limits_of(model(name)), NEED, more=[share])
    assert reserved[-1].units in {1_500, 1_000, 1}
    assert used(reserved, Usage(10, 5), cost=0, most=500)[limit] in {510, 10, 1}


def test_budgets_are_charged_with_what_it_may_cost_and_settled_with_what_it_did() -> None:
    day = budget("tenant", "acme", 10.0, Calendar.DAY)
    task = budget("task", "0190", 0.5, Calendar.EVER)
    assert day == Limit("budget:tenant/acme:day", 10_000_000, calendar=Calendar.DAY)
    assert is_budget(task.name)
    assert not is_budget("model:main/large:tokens")
    price = Price(input=2.5, output=10)
    cost = cost_of(price, *NEED)
    assert cost == 7_500
    reserved = charges(limits_of(model("main/large")), NEED, cost=cost, more=[day, task])
    assert units(reserved)[day.name] == units(reserved)[task.name] == 7_500
    settled = used(reserved, Usage(990, 20), cost=cost_of(price, 990, 20), most=500)
    assert settled[day.name] == settled[task.name] == 2_675
    free = charges(limits_of(model("main/large")), NEED, more=[day, task])
    assert day.name not in units(free)


def test_a_cost_is_rounded_up_and_not_by_what_floating_point_adds() -> None:
    assert cost_of(Price(input=0.1, output=0.4), 1, 0) == 1
    assert cost_of(Price(input=0.1, output=0.2), 10, 10) == 3
    assert cost_of(Price(input=1_000_000, output=0), 10**6, 0) == 10**12


@pytest.mark.parametrize("name", ["a b/ü", "x" * 255, "acme/ada@x.org"])
def test_whoever_pays_has_a_name_that_can_be_kept(name: str) -> None:
    kept = budget("user", name, 1.0, Calendar.MONTH)
    assert len(kept.name) < 200
    assert kept.name != budget("user", f"{name}1", 1.0, Calendar.MONTH).name


def test_a_refusal_slows_all_down_and_lets_the_fleet_pause() -> None:
    limits = limits_of(model("main/large"))
    assert list(refused(limits, 30.0)) == [
        Notice(limit, slower=True, pause=30.0) for limit in limits.values()
    ]


def test_all_of_it_is_one_reservation() -> None:
    books: defaultdict[str, Account] = defaultdict(Account)
    large, now = model("main/large"), 1_700_000_000_000
    day = budget("tenant", "acme", 0.01, Calendar.DAY)
    more = [tenants_share(large, "acme", 0.5), day]
    reserved: Any = charges(limits_of(large), NEED, cost=7_500, more=more)
    assert len(reserved) == 4

    def ask(key: str, wanted: list[Charge]) -> str:
        found = decision.decide(books, Asked(Reservation(key, wanted), "me"), now)
        return "" if found.verdict.granted else found.verdict.limit

    assert ask("a", reserved) == ""
    now += 10_000
    assert ask("b", reserved) == day.name
    settled = used(reserved, Usage(1_000, 10), cost=2_600, most=500)
    decision.release(books, Reservation("a", reserved), now, settled)
    assert ask("b", reserved) == day.name
    smaller: Any = charges(limits_of(large), Need(1_000, 10), cost=2_600, more=more)
    assert ask("b", smaller) == ""
    assert books[day.name].state(day).used == 5_200
