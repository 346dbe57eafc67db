"""DELETE /api/v1/tasks/{id}: a task's content goes, its hashes and a tombstone stay."""

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from stagepost.event import rfc3339
from stagepost.web.answers import Operation, answer, identity_of
from stagepost.web.parts import Parts
from stagepost.web.schemas import Erased
from stagepost.web.status import checked_id


class ErasureRoutes:
    """The route of erasures."""

    def __init__(self, parts: Parts) -> None:
        self._client = parts.client

    def operations(self) -> Sequence[Operation]:
        """The routes."""
        return [
            Operation(
                method="DELETE",
                path="/api/v1/tasks/{task_id}",
                endpoint=self.erase,
                answers={200: Erased},
                problems=(404, 409, 503),
            )
        ]

    async def erase(self, request: Request, task_id: str) -> Response:
        """Erase a task that is over: its input, result, files, steps and history.

        The answer is its tombstone: who erased it, when, and the SHA-256 of what it held. A second
        request answers the same. 409 while the task is not final; 410 when it was pruned.
        """
        caller = identity_of(request).caller
        stone = await self._client.erase(checked_id(task_id), caller=caller)
        assert stone.by is not None
        assert stone.hashes is not None
        body: Erased = {
            "taskId": stone.task_id,
            "erasedAt": rfc3339(stone.at),
            "erasedBy": stone.by,
            "hashes": {
                "input": stone.hashes.input,
                "result": stone.hashes.result,
                "uploads": list(stone.hashes.uploads),
                "artifacts": list(stone.hashes.artifacts),
            },
        }
        return answer(body)
