"""Files that tasks saved."""

from collections.abc import Sequence
from typing import Annotated, Final
from urllib.parse import quote

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from stagepost.errors import NotFound
from stagepost.web import shapes
from stagepost.web.answers import Operation, Page, answer, identity_of, reads, sliced
from stagepost.web.downloads import BlobResponse, file_headers
from stagepost.web.parts import Parts
from stagepost.web.schemas import ArtifactItem, Listed
from stagepost.web.status import StatusReader

_ALL: Final = "/api/v1/tasks/{task_id}/artifacts"


class ArtifactRoutes:
    """The routes of artifacts."""

    def __init__(self, parts: Parts, reader: StatusReader) -> None:
        self._parts = parts
        self._reader = reader

    def operations(self) -> Sequence[Operation]:
        """The routes."""
        return [
            reads(_ALL, self.find, Listed[ArtifactItem], 404),
            Operation(
                method="GET",
                path=f"{_ALL}/{{name:path}}",
                endpoint=self.get,
                answers={200: bytes},
                problems=(404,),
                media_type="*/*",
            ),
        ]

    async def find(
        self, request: Request, task_id: str, query: Annotated[Page, Query()]
    ) -> Response:
        """The files that a task saved, by name."""
        await self._reader.view(task_id, identity_of(request).by_id)
        artifacts = await self._parts.store.artifacts(task_id)
        chosen, after = sliced(artifacts, lambda artifact: artifact.name, query)
        items = [shapes.artifact(task_id, saved, quote(saved.name, safe="")) for saved in chosen]
        return answer(shapes.page(items, after))

    async def get(self, request: Request, task_id: str, name: str) -> Response:
        """A file that a task saved, as it is.

        Browsers get it in a sandbox, since a task's file may hold what a stranger wrote.
        """
        await self._reader.view(task_id, identity_of(request).by_id)
        for saved in await self._parts.store.artifacts(task_id):
            if saved.name == name:
                media_type, headers = file_headers(saved.name, saved.media_type)
                blobs = self._parts.blobs
                return BlobResponse(blobs, saved.blob, saved.size, media_type, headers)
        raise NotFound("The task has no such artifact; see its /artifacts.")
