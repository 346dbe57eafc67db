"""Lanes and workers as they are now."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from stagepost.records import LaneRecord, WorkerRecord
from stagepost.rules import RuleKind
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
        rules = await self._parts.store.rules.find(RuleKind.LANE)
        paused = {rule.name for rule in rules if rule.paused}
        items = [
            service_shapes.lane(
                record, now, self._slots(record, workers), paused=record.name in paused
            )
            for record in chosen
        ]
        return answer(shapes.page(items, after))

    async def workers(self, query: Annotated[Page, Query()]) -> Response:
        """The workers that live: one for each life of a process."""
        workers = await self._parts.store.workers()
        chosen, after = sliced(workers, lambda record: record.id, query)
        return answer(shapes.page([service_shapes.worker(record) for record in chosen], after))

    def _slots(self, lane: LaneRecord, workers: Sequence[WorkerRecord]) -> int:
        slots = [worker.slots for worker in workers if lane.name in worker.lanes]
        return sum(slots) // len(slots) if slots else self._parts.settings.concurrency
