"""From what a handler asks for to the children that the store makes of it."""

from collections.abc import Collection, Sequence
from typing import Any, Final

import orjson
from uuid_utils import uuid7

from stagepost.batch import NewBatch, Page
from stagepost.errors import UnknownLane
from stagepost.inputs import ids_in, input_text
from stagepost.journal import NewChildren
from stagepost.records import UploadRecord
from stagepost.registry import App
from stagepost.store import Store
from stagepost.task_type import TaskType

_MOST_UPLOADS: Final = 1_000  # ids of one page's inputs that are looked up at once


class ChildPages:
    """Validates children's inputs as a submit would; without `lanes`, any lane is one."""

    def __init__(self, app: App, store: Store, lanes: Collection[str]) -> None:
        self._app = app
        self._store = store
        self._lanes = lanes

    async def page(self, tenant: str, asked: NewChildren) -> Page:
        """The page to be made. Raises UnknownType, UnknownLane, Invalid."""
        task_type = self._app.get(asked.type)
        lane = asked.lane or task_type.lane
        if self._lanes and lane not in self._lanes:
            known = ", ".join(self._lanes)
            raise UnknownLane(f'There is no lane "{lane}"; there are: {known}.')
        values = [orjson.loads(text) for text in asked.inputs]
        uploads = await self._uploads(task_type, tenant, values)
        children = [(str(uuid7()), input_text(task_type, value, uploads)) for value in values]
        ids = [child_id for child_id, _ in children]
        named = _named(ids, values, uploads) if uploads else {}
        batch = _batch(task_type, lane, asked)
        return Page(batch, asked.first, children, asked.before, asked.after, asked.last, named)

    async def _uploads(
        self, task_type: TaskType, tenant: str, values: Sequence[Any]
    ) -> Sequence[UploadRecord]:
        if not task_type.file_names():
            return ()
        ids = [upload_id for value in values for upload_id in ids_in(value)]
        found: list[UploadRecord] = []
        for start in range(0, len(ids), _MOST_UPLOADS):
            found += await self._store.uploads(tenant, ids[start : start + _MOST_UPLOADS])
        return found


def _named(
    children: Sequence[str], values: Sequence[Any], uploads: Sequence[UploadRecord]
) -> dict[str, tuple[UploadRecord, ...]]:
    known = {upload.upload_id: upload for upload in uploads}
    found = {
        child_id: tuple(known[each] for each in dict.fromkeys(ids_in(value)) if each in known)
        for child_id, value in zip(children, values, strict=True)
    }
    return {child_id: named for child_id, named in found.items() if named}


def _batch(task_type: TaskType, lane: str, asked: NewChildren) -> NewBatch:
    low, high = asked.progress or (None, None)
    return NewBatch(
        id=str(uuid7()),
        path=asked.path,
        name=asked.type,
        type=asked.type,
        lane=lane,
        attempts=task_type.retry.attempts,
        ttl=task_type.ttl,
        detached=asked.detached,
        low=low,
        high=high,
        message=asked.message,
    )
