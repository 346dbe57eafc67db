"""How the product, or any client, is pointed at a simulated provider. Pure."""

from collections.abc import Sequence
from typing import Final

from stagepost.llm.catalogue import SHORTEST_MINUTE
from stagepost.simulated.provider import SimulatedProvider
from stagepost.simulated.quota import MINUTE
from stagepost.simulated.simulation import Simulation

_MOST_ALIASES: Final = 2
_ALIASES: Final = ("best", "fast")


def models_toml(simulation: Simulation) -> str:
    """A models.toml that names its models, its limits, and how long its minute is."""
    provider = simulation.provider
    names = provider.models
    minute = _minute(provider)
    lines = [
        "[providers.sim]",
        'kind = "openai"',
        f'base_url = "{simulation.base_url}"',
        'dialect = "openai"',
    ]
    if minute != MINUTE:
        lines.append(f"minute = {minute:g}")
    # The second alias is the second model, where there is one.
    for alias, name in zip(_ALIASES, [*names[:_MOST_ALIASES], names[0]], strict=False):
        lines += ["", f"[models.{alias}]", f'chain = ["sim/{name}"]']
    for name in names:
        lines += ["", f'[limits."sim/{name}"]', *_limits(simulation)]
    return "\n".join(lines) + "\n"


def environment_lines(simulation: Simulation) -> Sequence[str]:
    """What a shell must know for the SDKs of both providers."""
    return (
        f"export OPENAI_BASE_URL={simulation.base_url} OPENAI_API_KEY=any",
        f"export ANTHROPIC_BASE_URL={simulation.url} ANTHROPIC_API_KEY=any",
    )


def _minute(provider: SimulatedProvider) -> float:
    return min(MINUTE, max(SHORTEST_MINUTE, MINUTE / provider.speed))


def _limits(simulation: Simulation) -> Sequence[str]:
    provider, lending = simulation.provider, simulation.provider.lending
    # Where its minute is too short, or too long, for models.toml to name, the limits make up.
    minutes = _minute(provider) * provider.speed / MINUTE
    found = []
    for name, units in (("requests", lending.requests), ("tokens", lending.tokens)):
        if units is not None:
            found.append(f"{name}_per_minute = {max(1, round(units * minutes))}")
    if lending.concurrency is not None:
        found.append(f"concurrency = {lending.concurrency}")
    price = f"{{ input = {provider.price[0]:g}, output = {provider.price[1]:g} }}"
    return [
        *found,
        f'charge = "{lending.charge}"',
        f"context = {provider.context}",
        f"price = {price}",
    ]
