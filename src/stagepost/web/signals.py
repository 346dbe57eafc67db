"""Signals: JSON that a person or program sends to a task that waits for it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID, uuid5

import orjson
from pydantic import RootModel
from starlette.requests import Request
from starlette.responses import Response

from stagepost.errors import Invalid
from stagepost.signals import MOST_BYTES
from stagepost.web.answers import Operation, answer, identity_of
from stagepost.web.exchange import Exchange, exchange_of
from stagepost.web.limits import read_json
from stagepost.web.parts import Parts
from stagepost.web.problems import Kind, Problem, invalid
from stagepost.web.roles import words_up_to
from stagepost.web.schemas import SignalSent

_KEYS: Final = UUID("6f7d6a5e-3a0f-4f0c-9d5c-0a4d1f6b8c21")
"""The namespace of the ids of signals that have an Idempotency-Key."""


class SignalBody(RootModel[Any]):
    """Any JSON, of at most 64 KiB."""


class SignalRoutes:
    """The one route of signals."""

    def __init__(self, parts: Parts) -> None:
        self._client = parts.client
        self._key_length = parts.settings.limits.key_length
        self._limits = replace(parts.settings.limits, json_bytes=MOST_BYTES)

    def operations(self) -> Sequence[Operation]:
        """The route."""
        return [
            Operation(
                method="POST",
                path="/api/v1/tasks/{task_id}/signals/{name}",
                endpoint=self.send,
                answers={202: SignalSent},
                problems=(400, 403, 404, 409, 413, 415, 422, 503),
                body=SignalBody,
                body_required=False,
            )
        ]

    async def send(self, request: Request, task_id: str, name: str) -> Response:
        """Send a signal: any JSON up to 64 KiB, `null` without a body.

        It is kept until the task takes it with `ctx.wait_for(name)`, also if it comes before that.
        Signals of one name are taken in the order of their sending. 403 when the task waits for it
        from others; 409 when the task is over, or has 100 signals that it has not taken. A signal
        with one Idempotency-Key is kept once; 422 when another name or body was sent with the key.
        """
        body = await read_json(request, self._limits)
        identity = identity_of(request)
        key = self._key(exchange_of(request.scope))
        try:
            task = await self._client.signal(
                task_id,
                name,
                body,
                caller=identity.caller,
                roles=words_up_to(identity.role),
                signal_id=None if key is None else _id_of(task_id, identity.caller.user, key),
            )
        except Invalid as error:
            raise invalid(str(error), parameter="name") from error
        return answer({"taskId": task_id, "name": name, "status": task.status.value}, 202)

    def _key(self, exchange: Exchange) -> str | None:
        key = exchange.text(b"idempotency-key")
        if key is not None and not (1 <= len(key) <= self._key_length and key.isprintable()):
            most = self._key_length
            raise Problem(
                Kind.BAD_REQUEST, f"An Idempotency-Key has 1 to {most} printable characters."
            )
        return key


def _id_of(task_id: str, user: str, key: str) -> str:
    return str(uuid5(_KEYS, orjson.dumps([task_id, user, key]).decode()))
