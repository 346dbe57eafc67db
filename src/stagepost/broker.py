"""PORT. Carries a delivery from the submit that wrote it to the pool that workers claim from.

A *delivery* is one entry of a task into its lane; it has a number, so that a repeated one is known.
A broker is either *direct*, when the store itself puts the delivery into the pool within the
transaction that accepts the task, or it stands between: then the task stays PENDING until `consume`
has handed the delivery to the intake, which pools it. Every broker keeps this: an accepted task
reaches the pool, and the pool holds it at most once.
"""

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple, Protocol


class Delivery(NamedTuple):
    """One entry of a task into its lane."""

    task_id: str
    lane: str
    number: int


class Broker(Protocol):
    """Delivers at least once."""

    @property
    def direct(self) -> bool:
        """True if the store pools a new task in the transaction that accepts it."""
        ...

    async def publish(self, deliveries: Sequence[Delivery]) -> None:
        """Return once the broker has taken over every delivery durably."""
        ...

    def consume(self, lanes: Sequence[str]) -> AsyncIterator[Sequence[Delivery]]:
        """Batches of deliveries to pool; asking for the next batch confirms the one before."""
        ...

    async def close(self) -> None:
        """End `consume` and free what the broker holds."""
        ...
