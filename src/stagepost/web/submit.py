"""POST /api/v1/tasks/{type}: from a request to an accepted task.

The path that thousands of requests a second take, so it is written by hand as an ASGI application;
what it costs is measured in docs/performance.md.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson
from starlette.requests import Request

from stagepost.errors import NotFound
from stagepost.options import Options
from stagepost.records import Idempotency, Submitted, UploadRecord
from stagepost.task_type import TaskType
from stagepost.web import shapes
from stagepost.web.auth import Door
from stagepost.web.exchange import Exchange, Identity, exchange_of
from stagepost.web.forms import FormReader
from stagepost.web.inputs import InputShape, check_all_used, named_uploads
from stagepost.web.limits import check_plain, media_type_of, parse_json, read_body, unsupported
from stagepost.web.options import parse_options, preferred_wait
from stagepost.web.parts import Parts
from stagepost.web.problems import Kind, Problem
from stagepost.web.roles import ROLES
from stagepost.web.schemas import TaskStatus
from stagepost.web.status import StatusReader, StatusRoutes

PATH: Final = "/api/v1/tasks/{type}"
_ROUTE: Final = f"POST {PATH}"
_JSON: Final = (b"content-type", b"application/json")


class Sent(NamedTuple):
    """An input as it was sent, not validated yet, and the files that it names.

    `size` is that of its JSON in bytes, where it came so.
    """

    task_type: TaskType
    value: Any
    uploads: Sequence[UploadRecord] = ()
    size: int = 0


class Submit:
    """The route, as an ASGI application."""

    def __init__(
        self, parts: Parts, door: Door, reader: StatusReader, statuses: StatusRoutes
    ) -> None:
        self._parts = parts
        self._limits = parts.settings.limits
        self._door = door
        self._reader = reader
        self._statuses = statuses
        self._shapes = {name: InputShape(of) for name, of in parts.app.types.items()}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Accept one task."""
        exchange = exchange_of(scope)
        identity = await self._door.enter(scope, ROLES["POST", PATH], PATH)
        task_type = self._parts.app.get(scope["path_params"]["type"])
        now = self._parts.clock.now()
        query = parse_options(scope["query_string"], self._parts.settings, now)
        sent = await self._input(task_type, exchange, identity, receive)
        idempotency = self._idempotency(exchange, query, sent)
        options = Options(**query, trace_id=exchange.trace_id, idempotency=idempotency)
        submitted = await self._parts.client.submit(
            task_type.name,
            sent.value,
            caller=identity.caller,
            options=options,
            uploads=sent.uploads,
        )
        seconds = preferred_wait(exchange.text(b"prefer"), self._limits.wait_most)
        if seconds > 0:
            done = await self._wait(submitted, identity, seconds, Request(scope, receive))
            if done is not None:
                applied = (b"preference-applied", b"wait=%d" % seconds)
                await _answer(send, 200, orjson.dumps(done), submitted.task_id, applied)
                return
        lane = submitted.lane or options.lane or task_type.lane
        size = sum(upload.size for upload in sent.uploads)
        left = await self._reader.outlook.at_submit(task_type.name, lane, size, sent.size)
        body = shapes.accepted(submitted, task_type.name, lane, left)
        await _answer(send, 200 if submitted.replayed else 202, body, submitted.task_id)

    async def _input(
        self, task_type: TaskType, exchange: Exchange, identity: Identity, receive: Any
    ) -> Sent:
        check_plain(exchange)
        shape, media_type = self._shapes[task_type.name], media_type_of(exchange)
        if media_type == "application/json":
            body = await read_body(exchange, receive, self._limits.json_bytes)
            value = parse_json(body, self._limits.json_depth)
            if not shape.takes_files:
                return Sent(task_type, value, size=len(body))
            return Sent(task_type, value, await self._named(value, identity), len(body))
        if media_type != "multipart/form-data":
            raise unsupported(
                "Send the input as application/json, or with files as multipart/form-data."
            )
        reader = FormReader(self._parts.client, self._limits, identity.caller)
        form = await reader.read(exchange, receive)
        value = shape.from_form(form, self._limits)
        uploads = [*form.uploads, *await self._named(value, identity)]
        checked = task_type.parse(value, _by_id(uploads))
        check_all_used(form, task_type, task_type.dump(checked))
        return Sent(task_type, value, uploads)

    async def _named(self, value: Any, identity: Identity) -> Sequence[UploadRecord]:
        tenant = identity.caller.tenant
        return await named_uploads(value, self._parts.store, tenant, self._limits)

    def _idempotency(
        self, exchange: Exchange, query: Mapping[str, Any], sent: Sent
    ) -> Idempotency | None:
        key = idempotency_key(exchange, self._limits.key_length)
        if key is None:
            return None
        return Idempotency(_ROUTE, key, fingerprint(sent, query))

    async def _wait(
        self, submitted: Submitted, identity: Identity, seconds: float, request: Request
    ) -> TaskStatus | None:
        """The status once the task is final; None if it is not after so many seconds."""
        mine = identity.caller.scope
        try:
            view = await self._reader.view(submitted.task_id, mine)
        except NotFound:
            # The key is remembered longer than the task that it made.
            return None
        status, _ = await self._statuses.until(
            view, mine, lambda status, _: status["final"], seconds, request.is_disconnected
        )
        return status if status["final"] else None


def idempotency_key(exchange: Exchange, most: int) -> str | None:
    """The header of this name; at most so many characters. Raises Problem."""
    key = exchange.text(b"idempotency-key")
    if key is not None and not (1 <= len(key) <= most and key.isascii() and key.isprintable()):
        raise Problem(
            Kind.BAD_REQUEST, f"An Idempotency-Key has 1 to {most} printable ASCII characters."
        )
    return key


def fingerprint(sent: Sent, query: Mapping[str, Any]) -> str:
    """SHA-256 over the type, the options, the validated input, and files by content and name.

    An upload's id is new each time, and its media type is what the client guessed: what the file
    stands for is its content, so the same form with another boundary is the same.
    """
    files = {
        upload.upload_id: upload._replace(upload_id=upload.sha256, media_type="")
        for upload in sent.uploads
    }
    text = sent.task_type.dump(sent.task_type.parse(sent.value, files.get))
    names = sorted((upload.name, upload.sha256) for upload in sent.uploads)
    whole = orjson.dumps([sent.task_type.name, query, text, names], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(whole).hexdigest()


def _by_id(uploads: Sequence[UploadRecord]) -> Any:
    return {upload.upload_id: upload for upload in uploads}.get


async def _answer(
    send: Any, status: int, body: bytes, task_id: str, *more: tuple[bytes, bytes]
) -> None:
    headers = [
        _JSON,
        (b"content-length", b"%d" % len(body)),
        (b"location", shapes.task_url(task_id).encode()),
        *more,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
