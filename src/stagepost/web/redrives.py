"""How a redrive goes, and how it is stopped."""

from collections.abc import Sequence
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from stagepost.errors import NotFound
from stagepost.web import service_shapes
from stagepost.web.answers import Operation, answer, identity_of, reads
from stagepost.web.dead_letter_schemas import Redrive
from stagepost.web.parts import Parts
from stagepost.web.status import TASK_ID

_ONE: Final = "/api/v1/redrives/{redrive_id}"


class RedriveRoutes:
    """The routes of redrives that have begun."""

    def __init__(self, parts: Parts) -> None:
        self._changes = parts.client.mass

    def operations(self) -> Sequence[Operation]:
        """The routes."""
        return [
            reads(_ONE, self.get, Redrive, 404),
            Operation(
                method="POST",
                path=f"{_ONE}/stop",
                endpoint=self.stop,
                answers={200: Redrive},
                problems=(404, 503),
            ),
        ]

    async def get(self, request: Request, redrive_id: str) -> Response:
        """How far a redrive is."""
        scope = identity_of(request).caller.scope
        progress = await self._changes.redrive_progress(_checked(redrive_id), scope)
        return answer(service_shapes.redrive(redrive_id, progress))

    async def stop(self, request: Request, redrive_id: str) -> Response:
        """Send no further dead letter back; what is on its way goes on."""
        caller = identity_of(request).caller
        progress = await self._changes.stop_redrive(_checked(redrive_id), caller=caller)
        return answer(service_shapes.redrive(redrive_id, progress))


def _checked(redrive_id: str) -> str:
    if not TASK_ID.fullmatch(redrive_id):
        raise NotFound("There is no such redrive; its id is a UUID.")
    return redrive_id
