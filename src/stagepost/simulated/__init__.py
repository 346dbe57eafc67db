"""The simulated provider: a model's server for tests, benchmarks and trying without a key.

    async with serve(SimulatedProvider(lending=Lending(requests=60))) as provider:
        client = AsyncOpenAI(base_url=provider.base_url, api_key="any")
        ...
    assert provider.ledger.refused == {}

docs/simulated-provider.md has it all.
"""

from stagepost.simulated.answers import Answer
from stagepost.simulated.asked import Asked
from stagepost.simulated.lending import Change, Lending
from stagepost.simulated.provider import SimulatedProvider
from stagepost.simulated.quota import Kind
from stagepost.simulated.script import Step
from stagepost.simulated.server import serve
from stagepost.simulated.simulation import Simulation
from stagepost.simulated.timing import Timing

__all__ = [
    "Answer",
    "Asked",
    "Change",
    "Kind",
    "Lending",
    "SimulatedProvider",
    "Simulation",
    "Step",
    "Timing",
    "serve",
]
