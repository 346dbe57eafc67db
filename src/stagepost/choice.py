"""Whose turn it is. Pure bookkeeping, kept by each worker for its own claims."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

Row = TypeVar("Row")


class LaneTurns:
    """Shares a worker's slots among lanes by weight, over time.

    Smooth weighted round robin: a lane with weight 8 beside one with weight 1 gets eight of nine
    slots while both have work, and all of them while the other has none. An idle lane saves up
    nothing.
    """

    def __init__(self, weights: Mapping[str, int]) -> None:
        self._weights = dict(weights)
        self._credit = dict.fromkeys(weights, 0)

    @property
    def lanes(self) -> tuple[str, ...]:
        """The lanes, in the order in which they were given."""
        return tuple(self._weights)

    def choose(self, available: Mapping[str, Sequence[Row]], slots: int) -> list[Row]:
        """Up to `slots` rows; each lane's are taken from its front."""
        busy = [lane for lane in self._weights if available.get(lane)]
        if len(busy) <= 1:
            return [row for lane in busy for row in available[lane][:slots]]
        taken = dict.fromkeys(busy, 0)
        chosen: list[Row] = []
        while busy and len(chosen) < slots:
            lane = self._next(busy)
            chosen.append(available[lane][taken[lane]])
            taken[lane] += 1
            if taken[lane] == len(available[lane]):
                busy.remove(lane)
                self._credit[lane] = 0
        return chosen

    def _next(self, busy: Sequence[str]) -> str:
        for lane in busy:
            self._credit[lane] += self._weights[lane]
        lane = max(busy, key=self._credit.__getitem__)
        self._credit[lane] -= sum(self._weights[name] for name in busy)
        return lane
