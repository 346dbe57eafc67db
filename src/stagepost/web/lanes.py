"""Lanes and workers as they are now."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from stagepost.records import LaneRecord, WorkerRecord
from stagepost.rules import Rule, RuleKind
from stagepost.web import service_shapes, shapes
from stagepost.web.answers import Operation, Page, answer, reads, sliced
from stagepost.web.fleet_schemas import Lane, Worker
from stagepost.web.parts import Parts
from stagepost.web.schemas import Listed


class LaneRoutes:
    """The routes of lanes and workers."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def operations(self) -> Sequence[Operation]:
        """The routes."""
        return [
            reads("/api/v1/lanes", self.lanes, Listed[Lane]),
            reads("/api/v1/workers", self.workers, Listed[Worker]),
        ]

    async def lanes(self, query: Annotated[Page, Query()]) -> Response:
        """The lanes: what waits, what runs, how fast it goes and how many workers would do."""
        records = await self._parts.store.lanes(list(self._parts.settings.lanes))
        workers = await self._parts.store.workers()
        chosen, after = sliced(records, lambda record: record.name, query)
        now = self._parts.clock.now()
        rules = {rule.name: rule for rule in await self._parts.store.rules.find(RuleKind.LANE)}
        items = [self._shown(record, now, workers, rules) for record in chosen]
        return answer(shapes.page(items, after))

    async def workers(self, query: Annotated[Page, Query()]) -> Response:
        """The workers that live: one for each life of a process."""
        workers = await self._parts.store.workers()
        chosen, after = sliced(workers, lambda record: record.id, query)
        return answer(shapes.page([service_shapes.worker(record) for record in chosen], after))

    def _shown(
        self,
        record: LaneRecord,
        now: int,
        workers: Sequence[WorkerRecord],
        rules: Mapping[str, Rule],
    ) -> Lane:
        slots = self._slots(record, workers)
        return service_shapes.lane(record, now, slots, self._rule(record, rules))

    def _rule(self, lane: LaneRecord, rules: Mapping[str, Rule]) -> Rule:
        """What holds for a lane, with its weight."""
        rule = rules.get(lane.name) or Rule(RuleKind.LANE, lane.name)
        return replace(rule, weight=rule.weight or self._parts.settings.lanes[lane.name])

    def _slots(self, lane: LaneRecord, workers: Sequence[WorkerRecord]) -> int:
        slots = [worker.slots for worker in workers if lane.name in worker.lanes]
        return sum(slots) // len(slots) if slots else self._parts.settings.concurrency
