"""OpenAI's routes of files and batches."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from stagepost.simulated.asked import BadRequest
from stagepost.simulated.batch_runs import BatchRuns
from stagepost.simulated.files import MOST_FILE
from stagepost.simulated.reading import TooLarge, read_json

_FORM: Final = 64 * 1024
"""Bytes of a form beside its file."""
_PAGE: Final = 20
_MOST_PAGE: Final = 100


class BatchRoutes:
    """The handlers for one provider."""

    def __init__(self, runs: BatchRuns) -> None:
        self._runs, self._batches, self._files = runs, runs.batches, runs.batches.files

    def routes(self) -> list[BaseRoute]:
        """Where they are found."""
        return [
            Route("/v1/files", self._upload, methods=["POST"]),
            Route("/v1/files/{id}", self._file, methods=["GET", "DELETE"]),
            Route("/v1/files/{id}/content", self._content),
            Route("/v1/batches", self._all, methods=["GET", "POST"]),
            Route("/v1/batches/{id}", self._batch),
            Route("/v1/batches/{id}/cancel", self._cancel, methods=["POST"]),
        ]

    async def _upload(self, request: Request) -> Response:
        name, purpose, content = await _sent_file(request)
        return JSONResponse(self._files.put(name, purpose, content).told())

    async def _file(self, request: Request) -> Response:
        identity = request.path_params["id"]
        if request.method == "DELETE":
            self._files.delete(identity)
            return JSONResponse({"id": identity, "object": "file", "deleted": True})
        return JSONResponse(self._files.get(identity).told())

    async def _content(self, request: Request) -> Response:
        found = self._files.get(request.path_params["id"])
        return Response(found.content, media_type="application/jsonl")

    async def _all(self, request: Request) -> Response:
        if request.method == "POST":
            batch = self._batches.create(await read_json(request))
            self._runs.start(batch)
            return JSONResponse(batch.told())
        limit = request.query_params.get("limit", str(_PAGE))
        most = int(limit) if limit.isdecimal() and len(limit) < 4 else _PAGE
        data = [batch.told() for batch in self._batches.newest(min(most, _MOST_PAGE))]
        return JSONResponse({"object": "list", "data": data, "has_more": False})

    async def _batch(self, request: Request) -> Response:
        return JSONResponse(self._batches.get(request.path_params["id"]).told())

    async def _cancel(self, request: Request) -> Response:
        found = self._batches.get(request.path_params["id"])
        self._batches.cancel(found)
        return JSONResponse(found.told())


async def _sent_file(request: Request) -> tuple[str, str, bytes]:
    bounded = Request(request.scope, _bounded(request.receive, MOST_FILE + _FORM))
    try:
        async with bounded.form(max_files=1, max_fields=8, max_part_size=_FORM) as form:
            sent, purpose = form.get("file"), form.get("purpose")
            if not isinstance(sent, UploadFile) or not isinstance(purpose, str):
                raise BadRequest("Send a form with the parts 'purpose' and 'file'.", "file")
            return sent.filename or "file", purpose, await sent.read()
    except HTTPException as error:
        raise BadRequest(f"The form can't be read: {error.detail}") from error


def _bounded(receive: Callable[[], Awaitable[Any]], most: int) -> Callable[[], Awaitable[Any]]:
    size = 0

    async def counted() -> Any:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > most:
            raise TooLarge(f"A file has at most {MOST_FILE} bytes.")
        return message

    return counted
