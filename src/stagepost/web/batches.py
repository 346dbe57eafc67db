"""Batches: many inputs of one type as one task."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Annotated, Any, Final, Literal

import orjson
from fastapi import Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from stagepost.batch import ChildRecord
from stagepost.errors import TenantFull
from stagepost.options import Options
from stagepost.records import Idempotency, Submitted
from stagepost.web import shapes
from stagepost.web.answers import (
    Operation,
    Page,
    Strict,
    answer,
    identity_of,
    reads,
    validated,
)
from stagepost.web.batch_inputs import Inputs, given, lines_of
from stagepost.web.exchange import exchange_of
from stagepost.web.limits import check_plain, media_type_of, parse_json, read_body, unsupported
from stagepost.web.parts import Parts
from stagepost.web.problems import Kind, Problem, invalid
from stagepost.web.schemas import AcceptedBatch, BatchPage
from stagepost.web.status import StatusReader
from stagepost.web.submit import idempotency_key

_PATH: Final = "/api/v1/batches"
_ROUTE: Final = f"POST {_PATH}"
_LINES: Final = "application/x-ndjson"
_TYPE: Final = "batch"
_LAST_PLACE: Final = 2**31 - 1  # of a child in its batch, in every store

OnFailure = Literal["collect", "stop"]


class BatchOptions(Strict):
    """How a batch of JSON Lines is made; a batch in JSON says it in its body."""

    type: str | None = Field(default=None, max_length=63)
    lane: str | None = Field(default=None, max_length=63)
    on_failure: OnFailure | None = None


class BatchBody(Strict):
    """Inputs of one type. `collect` waits for all tasks, `stop` fails with the first that fails."""

    type: str = Field(max_length=63)
    inputs: list[Any] = Field(min_length=1)
    lane: str | None = Field(default=None, max_length=63)
    on_failure: OnFailure = "collect"


class _Wanted(Strict):
    """What a batch is to be, wherever it was said."""

    type: str
    lane: str | None = None
    on_failure: OnFailure = "collect"


class BatchRoutes:
    """The routes of batches."""

    def __init__(self, parts: Parts, reader: StatusReader) -> None:
        self._parts = parts
        self._limits = parts.settings.limits
        self._reader = reader

    def operations(self) -> Sequence[Operation]:
        """The routes."""
        return [
            Operation(
                method="POST",
                path=_PATH,
                endpoint=self.make,
                answers={202: AcceptedBatch, 200: AcceptedBatch},
                problems=(400, 404, 409, 413, 415, 503),
                body=BatchBody,
                lines=True,
            ),
            reads(f"{_PATH}/{{task_id}}", self.get, BatchPage, 404),
        ]

    async def make(self, request: Request, query: Annotated[BatchOptions, Query()]) -> Response:
        """Submit many inputs of one type as one task, which starts a task for each.

        As JSON, or as JSON Lines (one input a line) with `?type=`. Every input is validated before
        anything is accepted. An `Idempotency-Key` counts as for any task. 429 when the tenant's
        quota has no room for all of the inputs; nothing is started then.
        """
        exchange = exchange_of(request.scope)
        check_plain(exchange)
        if media_type_of(exchange) == _LINES:
            wanted = _from_query(query)
            values = lines_of(exchange, request.receive, self._limits)
        elif query.model_fields_set:
            raise invalid("A batch in JSON has its options in its body.", parameter="type")
        elif media_type_of(exchange) == "application/json":
            raw = await read_body(exchange, request.receive, self._limits.json_bytes)
            body = validated(BatchBody, parse_json(raw, self._limits.json_depth))
            wanted = _Wanted(type=body.type, lane=body.lane, onFailure=body.on_failure)
            values = given(body.inputs)
        else:
            raise unsupported(f"Send the inputs as application/json or {_LINES}.")
        return await self._accept(request, wanted, self._checked(wanted, request, values))

    def _checked(self, wanted: _Wanted, request: Request, values: Any) -> Inputs:
        task_type = self._parts.app.get(wanted.type)
        _check_lane(wanted.lane or task_type.lane, self._parts.settings.lanes)
        tenant = identity_of(request).caller.tenant
        return Inputs(task_type, self._parts.store, tenant, values)

    async def _accept(self, request: Request, wanted: _Wanted, inputs: Inputs) -> Response:
        exchange, caller = exchange_of(request.scope), identity_of(request).caller
        key = idempotency_key(exchange, self._limits.key_length)
        record = await self._parts.client.upload(
            "inputs.jsonl", _LINES, inputs.checked(), caller=caller, limit=self._limits.file_bytes
        )
        if not inputs.count:
            raise invalid("A batch has one input at least.", pointer="#/inputs")
        idempotency = None
        if key is not None:
            whole = orjson.dumps([wanted.type, wanted.lane, wanted.on_failure, record.sha256])
            idempotency = Idempotency(_ROUTE, key, sha256(whole).hexdigest())
        try:
            submitted = await self._parts.client.submit(
                _TYPE,
                {**wanted.model_dump(by_alias=True), "file": record.upload_id},
                caller=caller,
                options=Options(
                    trace_id=exchange.trace_id, idempotency=idempotency, brings=inputs.count
                ),
                uploads=[record],
            )
        except TenantFull:
            # It comes again soon, and a tenant that is over its quota must not fill the disk.
            await self._parts.client.discard_upload(record)
            raise
        return await self._accepted(submitted, record.size, inputs.count)

    async def _accepted(self, submitted: Submitted, size: int, count: int) -> Response:
        """The answer to a submit of `count` inputs, which are kept as a file of `size` bytes."""
        lane = submitted.lane or self._parts.app.get(_TYPE).lane
        left = await self._reader.outlook.at_submit(_TYPE, lane, size, 0)
        body = orjson.loads(shapes.accepted(submitted, _TYPE, lane, left))
        location = {"Location": shapes.task_url(submitted.task_id)}
        status = 200 if submitted.replayed else 202
        return answer({**body, "count": count}, status, location)

    async def get(
        self, request: Request, task_id: str, query: Annotated[Page, Query()]
    ) -> Response:
        """How a batch's tasks stand, and a page of them in input order with their results.

        It is there for every task that has started others; `after` is the `next` of the page
        before.
        """
        await self._reader.view(task_id, identity_of(request).by_id)
        counts: dict[str, int] = {}
        children = self._parts.store.children
        batches = await children.batches(task_id)
        for batch in batches:
            for status, many in (await children.counts(batch.id)).items():
                counts[status.value] = counts.get(status.value, 0) + many
        number, place = _position(query.after)
        found: list[tuple[int, ChildRecord]] = []
        for index, batch in enumerate(batches[number:], number):
            left = query.limit + 1 - len(found)
            if left <= 0:
                break
            page = await children.results(batch.id, place if index == number else -1, left)
            found += [(index, record) for record in page]
        shown = found[: query.limit]
        after = f"{shown[-1][0]}-{shown[-1][1].place}" if len(found) > query.limit else None
        items = [shapes.child(record) for _, record in shown]
        return answer({"counts": counts, **shapes.page(items, after)})


def _from_query(query: BatchOptions) -> _Wanted:
    if query.type is None:
        raise invalid("Name the task type of the inputs: ?type=.", parameter="type")
    return _Wanted(type=query.type, lane=query.lane, onFailure=query.on_failure or "collect")


def _check_lane(lane: str, lanes: Mapping[str, int]) -> None:
    if lane not in lanes:
        raise invalid(f"There is no lane {lane}; there are: {', '.join(lanes)}.", parameter="lane")


def _position(after: str | None) -> tuple[int, int]:
    if after is None:
        return 0, -1
    number, dash, place = after.partition("-")
    known = dash and number.isdecimal() and place.isdecimal() and len(after) <= 20
    if not known or int(place) > _LAST_PLACE:
        raise Problem(Kind.BAD_REQUEST, "after is the `next` of the page before.")
    return int(number), int(place)
