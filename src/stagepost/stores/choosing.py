"""Which of the ready tasks a claim takes: fair shares of the tenants, and what rules hold back.

Terms
    *queue*   the ready tasks of one lane, tenant and type, in the order of score and id; the type
              is the pool's, with the version of the code once there is one (`Task.pool_type`).
    *place*   how far a tenant has come in a lane: STRIDE / weight for each task that it was given
              while others waited too. The one furthest behind is next.
    *latest*  the place from which a lane's last turn was taken. Whoever is behind it starts there:
              a tenant that comes back from idleness has saved up nothing. Of several that start
              at one place the one that was furthest behind is first.

Pure; both stores choose by it, and where one does so in a statement of its own, the conformance
suite and the model hold it to this.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace
from typing import Any, Final, NamedTuple

from stagepost.rules import RuleKind, Rules, Running
from stagepost.versions import type_of

STRIDE: Final = 1_000_000
"""One task's step of a tenant of weight 1."""

FORGOTTEN: Final = 1_000 * STRIDE
"""A tenant so far behind the latest turn has been idle for long; its place need not be kept."""

READS_PER_SLOT: Final = 4


class Queue(NamedTuple):
    """The name of a queue."""

    lane: str
    tenant: str
    type: str


Row = Sequence[Any]
"""A ready task: its queue's lane, tenant and type, then score, id and deadline."""


@dataclass(slots=True)
class Standing:
    """The tenants of a lane, as far as they have a place."""

    latest: int = 0
    places: dict[str, int] = field(default_factory=dict)

    def start(self, tenant: str) -> int:
        """Where a tenant's next turn begins."""
        return max(self.latest, self.places.get(tenant, 0))

    def advance(self, taken: Mapping[str, int], weights: Mapping[str, int]) -> None:
        """Each of these tenants was given so many tasks."""
        starts = {tenant: self.start(tenant) for tenant in taken}
        for tenant, many in taken.items():
            stride = STRIDE // weights.get(tenant, 1)
            self.places[tenant] = starts[tenant] + many * stride
            self.latest = max(self.latest, self.places[tenant] - stride)


class Room:
    """How many more tasks may start, by lane, type and tenant, before a limit is reached.

    `coded` are the limits that the types' code gives; a type's rule goes before.
    """

    def __init__(
        self, rules: Rules, coded: Mapping[str, int], running: Iterable[Running] = ()
    ) -> None:
        self._rules = rules
        self._coded = coded
        self._taken: Counter[tuple[RuleKind, str]] = Counter()
        for lane, tenant, type_name, many in running:
            self._take(lane, tenant, type_name, many)

    def left(self, queue: Queue) -> int | None:
        """How many of a queue may start; None for any number."""
        lefts = [
            self._left(RuleKind.LANE, queue.lane),
            self._left(RuleKind.TYPE, type_of(queue.type)),
            self._left(RuleKind.TENANT, queue.tenant),
        ]
        return min((left for left in lefts if left is not None), default=None)

    def admits(self, row: Row) -> bool:
        """Whether this task may start; if so it is counted."""
        left = self.left(Queue(row[0], row[1], row[2]))
        if left is not None and left <= 0:
            return False
        self._take(row[0], row[1], type_of(row[2]), 1)
        return True

    def _left(self, kind: RuleKind, name: str) -> int | None:
        rule = self._rules.of(kind, name)
        if rule.paused:
            return 0
        most = rule.concurrency
        if most is None and kind is RuleKind.TYPE:
            most = self._coded.get(name)
        return None if most is None else most - self._taken[kind, name]

    def _take(self, lane: str, tenant: str, type_name: str, many: int) -> None:
        self._taken[RuleKind.LANE, lane] += many
        self._taken[RuleKind.TYPE, type_name] += many
        self._taken[RuleKind.TENANT, tenant] += many


def room_for(
    rules: Rules, coded: Mapping[str, int], running: Iterable[Running] = ()
) -> Room | None:
    """The room that rules leave; None where nothing is held back."""
    return Room(rules, coded, running) if rules.restrict or coded else None


def reads(
    queues: Iterable[Queue], types: Iterable[str], slots: int, room: Room | None
) -> dict[Queue, int]:
    """How many rows to read of each queue that can be taken from.

    All in all READS_PER_SLOT a slot, or one a tenant where there are more: so what many tenants
    have ready fills the slots in one claim or in the next few.
    """
    known = frozenset(types)
    usable: dict[Queue, int] = {}
    for queue in queues:
        if queue.type in known:
            left = None if room is None else room.left(queue)
            if left is None or left > 0:
                usable[queue] = slots if left is None else min(slots, left)
    tenants = Counter(lane for lane, _ in {(queue.lane, queue.tenant) for queue in usable})
    return {
        queue: min(most, max(1, READS_PER_SLOT * slots // tenants[queue.lane]))
        for queue, most in usable.items()
    }


def shared_lanes(wanted: Iterable[Queue]) -> dict[str, set[str]]:
    """The tenants of those lanes in which more than one has something ready."""
    tenants: dict[str, set[str]] = {}
    for queue in wanted:
        tenants.setdefault(queue.lane, set()).add(queue.tenant)
    return {lane: found for lane, found in tenants.items() if len(found) > 1}


def in_fair_order(
    rows: Mapping[Queue, Sequence[Row]],
    standings: Mapping[str, Standing],
    weights: Mapping[str, int],
) -> dict[str, list[Row]]:
    """Each lane's rows: every tenant's by score, and the tenants in turn."""
    lanes: dict[str, dict[str, list[Row]]] = {}
    for queue, found in rows.items():
        if found:
            lanes.setdefault(queue.lane, {}).setdefault(queue.tenant, []).extend(found)
    return {
        lane: _in_turn(tenants, standings.get(lane) or Standing(), weights)
        for lane, tenants in lanes.items()
    }


def _in_turn(
    tenants: Mapping[str, list[Row]], standing: Standing, weights: Mapping[str, int]
) -> list[Row]:
    for rows in tenants.values():
        rows.sort(key=_score)
    if len(tenants) == 1:
        return next(iter(tenants.values()))
    places = standing.places
    turns = [(standing.start(tenant), places.get(tenant, 0), tenant, 0) for tenant in tenants]
    heapify(turns)
    ordered: list[Row] = []
    while turns:
        start, place, tenant, number = turns[0]
        ordered.append(tenants[tenant][number])
        if number + 1 < len(tenants[tenant]):
            stride = STRIDE // weights.get(tenant, 1)
            heapreplace(turns, (start + stride, place, tenant, number + 1))
        else:
            heappop(turns)
    return ordered


def by_score(chosen: list[Row]) -> list[Row]:
    """The chosen rows, each lane's by score: that is how they are handed over."""
    lanes: dict[str, list[Row]] = {}
    for row in chosen:
        lanes.setdefault(row[0], []).append(row)
    waiting = {lane: iter(sorted(rows, key=_score)) for lane, rows in lanes.items()}
    return [next(waiting[row[0]]) for row in chosen]


def taken_by_tenant(chosen: Iterable[Row]) -> dict[str, Counter[str]]:
    """How many rows of each lane are each tenant's."""
    taken: dict[str, Counter[str]] = {}
    for row in chosen:
        taken.setdefault(row[0], Counter())[row[1]] += 1
    return taken


def _score(row: Row) -> tuple[Any, Any]:
    return (row[3], row[4])
