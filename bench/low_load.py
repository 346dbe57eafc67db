"""Low load, the same for all: one task each 20 ms, after a warm-up that does not count."""

from collections.abc import Sequence

from bench.program import Figures, latencies

EVERY = 0.02  # seconds
WARM_UP = 50  # tasks


def figures_of(name: str, milliseconds: Sequence[float]) -> Figures:
    """Of every task from submit to handler start, the warm-up first."""
    counted = milliseconds[WARM_UP:]
    return Figures(name, latencies(counted), f"{len(counted)} tasks, one each {1e3 * EVERY:.0f} ms")
