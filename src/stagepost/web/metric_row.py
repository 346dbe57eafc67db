"""How metrics are described, and made from their descriptions."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class Row(NamedTuple):
    """One metric: its kind, its labels and what it tells."""

    kind: str
    labels: tuple[str, ...]
    help: str


class Maker:
    """Makes the metrics of a table in a registry."""

    def __init__(self, table: Mapping[str, Row], registry: CollectorRegistry) -> None:
        self._table = table
        self._registry = registry

    def counter(self, name: str) -> Counter:
        """The counter of this name."""
        row = self._table[name]
        return Counter(name, row.help, row.labels, registry=self._registry)

    def gauge(self, name: str) -> Gauge:
        """The gauge of this name."""
        row = self._table[name]
        return Gauge(name, row.help, row.labels, registry=self._registry)

    def histogram(self, name: str, buckets: Sequence[float]) -> Histogram:
        """The histogram of this name; `buckets` are in seconds."""
        row = self._table[name]
        return Histogram(name, row.help, row.labels, registry=self._registry, buckets=buckets)
