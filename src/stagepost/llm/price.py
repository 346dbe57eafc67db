"""What a call costs: models.toml's price, else the list price that genai-prices knows.

Money is in whole micro-dollars (a millionth of a US dollar), rounded up, so that what is counted
against a budget is never less than what was spent.
"""

import math
from datetime import datetime
from decimal import Decimal
from typing import Final, NamedTuple

from stagepost.llm.catalogue import Model, Price
from stagepost.llm.dialect import Dialect

MICRO: Final = 1_000_000
"""Micro-dollars of a dollar, and the tokens for which models.toml names a price."""

_LISTED_AS: Final = {
    Dialect.OPENAI: "openai",
    Dialect.AZURE: "azure",
    Dialect.ANTHROPIC: "anthropic",
    Dialect.GEMINI: "google",
    Dialect.DEEPSEEK: "deepseek",
}
"""Others have no list price, or none that is known: a model on one's own machine costs no tokens'
money, and what it does cost nobody can guess."""


class Tokens(NamedTuple):
    """What a call used, or might use: all input tokens, those of them read from a cache, output."""

    input: int
    output: int
    cached: int = 0


def cost(model: Model, tokens: Tokens, at: datetime) -> int | None:
    """Micro-dollars at that instant; None where the price is not known.

    A price of models.toml holds for cached tokens as well: it says nothing else of them.
    """
    own = model.limits.price
    return _by_own(own, tokens) if own is not None else _by_list(model, tokens, at)


def _by_own(price: Price, tokens: Tokens) -> int:
    # Decimals of the numbers as they were written: 0.1 a million for ten tokens is exactly 1.
    input_, output = Decimal(str(price.input)), Decimal(str(price.output))
    return math.ceil(input_ * tokens.input + output * tokens.output)


def _by_list(model: Model, tokens: Tokens, at: datetime) -> int | None:
    listed = _LISTED_AS.get(model.provider.speaks)
    if listed is None:
        return None
    # Here, since it takes a third of a second, which who calls no model need not wait for.
    from genai_prices import Usage, calc_price  # noqa: PLC0415

    used = Usage(
        input_tokens=tokens.input,
        output_tokens=tokens.output,
        cache_read_tokens=min(tokens.cached, tokens.input),
    )
    try:
        price = calc_price(used, model.asked_as, provider_id=listed, genai_request_timestamp=at)
    except LookupError:
        return None
    return math.ceil(price.total_price * MICRO)
