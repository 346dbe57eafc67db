"""What all tests share.

Hypothesis: the same examples in every run, more of them on request.

`STAGEPOST_EXAMPLES=20` multiplies the number of examples; `STAGEPOST_SEED=random` looks for new
ones (pytest then prints how to repeat what it found).
"""

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings

from support import postgres

_TIMES = int(os.environ.get("STAGEPOST_EXAMPLES", "1"))
_RANDOM = os.environ.get("STAGEPOST_SEED") == "random"

settings.register_profile(
    "stagepost",
    deadline=None,
    derandomize=not _RANDOM,
    max_examples=100 * _TIMES,
    database=None,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
    print_blob=True,
    suppress_health_check=(HealthCheck.too_slow,),
)
settings.load_profile("stagepost")

# A shell that starts the tests in the background makes them, and whatever they start, deaf to it.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Server]:
    """One PostgreSQL for all tests that do not harm it."""
    with postgres.server() as server:
        yield server
