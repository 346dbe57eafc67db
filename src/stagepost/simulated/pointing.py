"""How the product, or any client, is pointed at a simulated provider. Pure."""

from collections.abc import Sequence
from typing import Final

from stagepost.simulated.simulation import Simulation

_MOST_ALIASES: Final = 2
_ALIASES: Final = ("best", "fast")


def models_toml(simulation: Simulation) -> str:
    """A models.toml that names its models and limits, the latter in real minutes."""
    provider = simulation.provider
    names = provider.models
    lines = [
        "[providers.sim]",
        'kind = "openai"',
        f'base_url = "{simulation.base_url}"',
        'dialect = "openai"',
    ]
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


def _limits(simulation: Simulation) -> Sequence[str]:
    provider, lending = simulation.provider, simulation.provider.lending
    found = []
    for name, units in (("requests", lending.requests), ("tokens", lending.tokens)):
        if units is not None:
            # Its minute is shorter by the speed, so a real one has more.
            found.append(f"{name}_per_minute = {max(1, round(units * provider.speed))}")
    if lending.concurrency is not None:
        found.append(f"concurrency = {lending.concurrency}")
    price = f"{{ input = {provider.price[0]:g}, output = {provider.price[1]:g} }}"
    return [
        *found,
        f'charge = "{lending.charge}"',
        f"context = {provider.context}",
        f"price = {price}",
    ]
