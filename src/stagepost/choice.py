"""Whose turn it is. Pure bookkeeping, kept by each worker for its own claims."""

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

Row = TypeVar("Row")


class LaneTurns:
    """Shares a worker's slots among lanes by weight, over time.

    Each lane has a place on one line, and moves forward by 1 / weight with each of its turns; the
    one furthest behind is next. So a lane with weight 8 beside one with weight 1 gets eight of nine
    slots while both have work, and all of them while the other has none. A lane that comes back
    from idleness starts where the others are: it has saved up nothing.
    """

    def __init__(self, weights: Mapping[str, int]) -> None:
        if any(weight < 1 for weight in weights.values()):
            raise ValueError("A lane's weight is at least 1.")
        self._own = dict(weights)
        self._changed: Mapping[str, int] = {}
        self._whole = math.lcm(*weights.values())
        self._stride = {lane: self._whole // weight for lane, weight in weights.items()}
        self._place = dict.fromkeys(weights, 0)
        self._latest = 0  # the place from which the last turn was taken
        self.windows: dict[str, tuple[str, str]] = {}
        """By lane: the tenant and type behind which to look next, where they are too many."""

    @property
    def lanes(self) -> tuple[str, ...]:
        """The lanes, in the order in which they were given."""
        return tuple(self._stride)

    def weigh(self, changed: Mapping[str, int]) -> None:
        """From now on these lanes have other weights than at first, and all others those."""
        if changed == self._changed:
            return
        self._changed = dict(changed)
        weights = {lane: changed.get(lane, weight) for lane, weight in self._own.items()}
        before, self._whole = self._whole, math.lcm(*weights.values())
        self._stride = {lane: self._whole // weight for lane, weight in weights.items()}
        self._place = {lane: place * self._whole // before for lane, place in self._place.items()}
        self._latest = self._latest * self._whole // before

    def standing(self) -> list[tuple[str, int, int]]:
        """Each lane with its place and its stride, were it to have work now.

        Its n-th turn from now comes at `place + (n - 1) * stride`; of two at one place the one that
        was given first comes first.
        """
        return [
            (lane, max(self._place[lane], self._latest), stride)
            for lane, stride in self._stride.items()
        ]

    def choose(
        self,
        available: Mapping[str, Sequence[Row]],
        slots: int,
        admits: Callable[[Row], bool] | None = None,
    ) -> list[Row]:
        """Up to `slots` rows; each lane's are taken from its front.

        A lane with more work than slots may pass only as many rows as there are slots, unless
        `admits` refuses some: those are passed over, and spend no turn.
        """
        if admits is not None:
            return self._choose_admitted(available, slots, admits)
        busy = [lane for lane in self._stride if available.get(lane)]
        for lane in busy:
            self._place[lane] = max(self._place[lane], self._latest)
        if len(busy) == 1:
            return self._alone(busy[0], available[busy[0]][:slots])
        taken = dict.fromkeys(busy, 0)
        chosen: list[Row] = []
        while busy and len(chosen) < slots:
            lane = min(busy, key=self._place.__getitem__)
            self._latest = self._place[lane]
            self._place[lane] += self._stride[lane]
            chosen.append(available[lane][taken[lane]])
            taken[lane] += 1
            if taken[lane] == len(available[lane]):
                busy.remove(lane)
        return chosen

    def _alone(self, lane: str, rows: Sequence[Row]) -> list[Row]:
        # As turn by turn, but at once.
        if rows:
            self._place[lane] += self._stride[lane] * len(rows)
            self._latest = self._place[lane] - self._stride[lane]
        return list(rows)

    def _choose_admitted(
        self, available: Mapping[str, Sequence[Row]], slots: int, admits: Callable[[Row], bool]
    ) -> list[Row]:
        left = {lane: deque(rows) for lane, rows in available.items()}
        chosen: list[Row] = []
        while len(chosen) < slots:
            ahead = {lane: [rows[0]] for lane, rows in left.items() if rows}
            lane = self._next(ahead)
            if lane is None:
                break
            row = left[lane].popleft()
            if admits(row):
                chosen += self.choose({lane: [row]}, 1)
        return chosen

    def _next(self, ahead: Mapping[str, Sequence[Row]]) -> str | None:
        busy = [lane for lane in self._stride if ahead.get(lane)]
        return min(busy, key=lambda lane: max(self._place[lane], self._latest), default=None)
