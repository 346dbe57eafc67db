"""POST /api/v1/uploads: a file first, for an input that names it later."""

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from stagepost.web import shapes
from stagepost.web.answers import Operation, answer, identity_of
from stagepost.web.exchange import exchange_of
from stagepost.web.forms import FormReader
from stagepost.web.limits import media_type_of, unsupported
from stagepost.web.parts import Parts
from stagepost.web.problems import invalid
from stagepost.web.schemas import Uploaded


class UploadRoutes:
    """The routes of uploads."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def operations(self) -> Sequence[Operation]:
        """The routes."""
        return [
            Operation(
                method="POST",
                path="/api/v1/uploads",
                endpoint=self.keep,
                answers={201: Uploaded},
                problems=(400, 413, 415, 503),
                form={
                    "type": "object",
                    "properties": {"file": {"type": "string", "format": "binary"}},
                    "required": ["file"],
                    "additionalProperties": False,
                },
            )
        ]

    async def keep(self, request: Request) -> Response:
        """Keep a file for a later input.

        The form holds one file, under any name. An input of this tenant may name it by its
        `uploadId` wherever its type takes a file, in any number of tasks.
        """
        exchange = exchange_of(request.scope)
        if media_type_of(exchange) != "multipart/form-data":
            raise unsupported("Send the file as a part of multipart/form-data.")
        caller = identity_of(request).caller
        reader = FormReader(self._parts.client, self._parts.settings.limits, caller)
        form = await reader.read(exchange, request.receive)
        if len(form.uploads) != 1 or form.fields:
            raise invalid("Send one file and nothing else.", pointer="#/file")
        record = form.uploads[0]
        await self._parts.store.keep_upload(record)
        return answer(shapes.uploaded(record), 201)
