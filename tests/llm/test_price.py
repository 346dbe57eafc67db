"""What a call costs."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.llm.catalogue import Catalogue, Model, ModelLimits, Price, Provider
from stagepost.llm.dialect import Dialect
from stagepost.llm.price import Tokens, cost

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def model(
    name: str = "gpt-4o",
    price: Price | None = None,
    provider: dict[str, str] | None = None,
) -> Model:
    own = {"kind": "openai", **(provider or {})}
    limits = ModelLimits(price=price)
    return Model(name=f"main/{name}", provider=Provider.model_validate(own), limits=limits)


def test_a_price_of_models_toml_is_in_dollars_a_million_tokens() -> None:
    price = Price(input=2.5, output=10)
    assert cost(model(price=price), Tokens(1_000_000, 1_000_000), NOW) == 12_500_000
    assert cost(model(price=price), Tokens(1_000, 100, cached=900), NOW) == 3_500


def test_a_part_of_a_micro_dollar_is_a_whole_one() -> None:
    assert cost(model(price=Price(input=0.1, output=0)), Tokens(10, 5), NOW) == 1
    assert cost(model(price=Price(input=0.1, output=0)), Tokens(11, 5), NOW) == 2


def test_models_toml_wins_over_the_list() -> None:
    listed = cost(model(), Tokens(1_000, 100), NOW)
    assert listed is not None
    assert listed > 0
    assert cost(model(price=Price(input=0, output=0)), Tokens(1_000, 100), NOW) == 0


def test_cached_tokens_cost_less_by_the_list() -> None:
    whole = cost(model(), Tokens(1_000, 100), NOW)
    cached = cost(model(), Tokens(1_000, 100, cached=800), NOW)
    assert whole is not None
    assert cached is not None
    assert 0 < cached < whole


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("gpt-4o", {"base_url": "https://us.openai.azure.com"}),
        ("deepseek-chat", {"base_url": "https://api.deepseek.com/v1"}),
        ("claude-sonnet-4-5", {"kind": "anthropic"}),
        ("gemini-2.5-flash", {"base_url": "https://generativelanguage.googleapis.com/v1beta"}),
    ],
)
def test_a_provider_is_known_by_its_address(name: str, provider: dict[str, str]) -> None:
    assert cost(model(name, provider=provider), Tokens(1_000, 100), NOW)


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("no-such-model-at-all", {}),
        ("gpt-4o", {"base_url": "http://127.0.0.1:8000/v1"}),
        ("qwen-max", {"dialect": Dialect.DASHSCOPE.value}),
    ],
)
def test_what_is_not_known_is_not_guessed(name: str, provider: dict[str, str]) -> None:
    assert cost(model(name, provider=provider), Tokens(1_000, 100), NOW) is None


@given(
    st.integers(0, 10**7),
    st.integers(0, 10**7),
    st.floats(0, 1_000),
    st.floats(0, 1_000),
)
def test_it_is_never_less_than_what_was_spent(
    input_: int, output: int, price_in: float, price_out: float
) -> None:
    price = Price(input=price_in, output=price_out)
    found = cost(model(price=price), Tokens(input_, output), NOW)
    exact = input_ * price_in + output * price_out
    assert found is not None
    assert exact * (1 - 1e-9) <= found <= exact * (1 + 1e-9) + 1


def test_the_catalogue_carries_it() -> None:
    text = """\
[providers.main]
kind = "openai"
[limits."main/own"]
price = { input = 1, output = 2 }
"""
    own = Catalogue.parse(text).model("main/own")
    assert cost(own, Tokens(3, 4), NOW) == 11
