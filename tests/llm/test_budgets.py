"""What models.toml says of budgets, and from which of them a call takes."""

import pytest

from stagepost.llm.budgets import Amount, Budgets
from stagepost.llm.catalogue import BadCatalogue, Catalogue
from stagepost.llm.purses import Spender, of_user, purses

WHOLE = """\
[budgets]
tenant = ["20/day", "300/month"]
user = "5/day"
type = "100/month"
task = "2.5"
[budgets.tenants]
acme = "1000/month"
[budgets.types]
contract-review = "50/day"
"""


def taken(budgets: Budgets, spender: Spender) -> dict[str, str]:
    return {each.limit.name: each.limit.words for each in purses(budgets, spender)}


def test_each_payer_has_its_budgets() -> None:
    budgets = Catalogue.parse(WHOLE).budgets
    assert taken(budgets, Spender("globex", "ann", "echo", "t1")) == {
        "budget:tenant/globex:day": "$20.00 a day",
        "budget:tenant/globex:month": "$300.00 a month",
        "budget:user/globex/ann:day": "$5.00 a day",
        "budget:type/echo:month": "$100.00 a month",
        "budget:task/t1:ever": "$2.50 in all",
    }


def test_who_has_its_own_has_only_those() -> None:
    found = taken(Catalogue.parse(WHOLE).budgets, Spender("acme", "ann", "contract-review", "t1"))
    assert {name: words for name, words in found.items() if "user" not in name} == {
        "budget:tenant/acme:month": "$1,000.00 a month",
        "budget:type/contract-review:day": "$50.00 a day",
        "budget:task/t1:ever": "$2.50 in all",
    }


def test_without_a_table_nobody_has_one() -> None:
    assert taken(Catalogue.parse("").budgets, Spender("acme", "ann", "echo", "t1")) == {}


def test_no_two_users_share_a_budget() -> None:
    budgets = Budgets.model_validate({"user": "1/day"})
    users = [("a/b", "c"), ("a", "b/c"), ("a%2Fb", "c"), ("a", "b:c"), ("a", "b c")]
    assert len({of_user(budgets, *user)[0].limit.name for user in users}) == len(users)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('tenant = "20"', "say in which period"),
        ('task = "2/day"', "a task's budget has no period"),
        ('tenant = "20/week"', "is no budget"),
        ('tenant = "0/day"', "is no budget"),
        ('tenant = ["1/day", "2/day"]', "one amount for each period"),
        ("user = 3", "write a text"),
        ('team = "3/day"', "there are: tenant, user, type, task, tenants, types"),
    ],
)
def test_what_can_t_be_meant_is_told_with_its_line(line: str, why: str) -> None:
    with pytest.raises(BadCatalogue, match=why) as told:
        Catalogue.parse(f"[budgets]\n{line}\n")
    assert "line 2" in str(told.value)


@pytest.mark.parametrize("text", ["2", "2.5", "0.000001", "20/day", "1000000000/month"])
def test_an_amount_is_written_as_it_is_read(text: str) -> None:
    assert Amount.parse(text).words == text
