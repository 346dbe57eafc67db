"""Puts the web layer together."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from inspect import signature
from urllib.parse import parse_qsl

from fastapi import Depends, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from stagepost.errors import StagepostError
from stagepost.web.alerts import AlertRoutes
from stagepost.web.answers import Operation
from stagepost.web.artifacts import ArtifactRoutes
from stagepost.web.auth import Door
from stagepost.web.batches import BatchRoutes
from stagepost.web.budgets import BudgetRoutes
from stagepost.web.calls import CallRoutes
from stagepost.web.cancels import CancelRoutes
from stagepost.web.dead_letters import DeadLetterRoutes
from stagepost.web.docs import DocRoutes
from stagepost.web.documents import openapi_document, request_body_of, responses_of
from stagepost.web.envelope import Envelope
from stagepost.web.erasure import ErasureRoutes
from stagepost.web.health import HealthRoutes
from stagepost.web.keyring import Keyring
from stagepost.web.keys import KeyRoutes
from stagepost.web.lanes import LaneRoutes
from stagepost.web.metrics import Metrics, listening
from stagepost.web.options import unknown_parameter
from stagepost.web.parts import Parts
from stagepost.web.problems import Disconnected, Fault, Kind, Problem, pointer, problem_of, sentence
from stagepost.web.quotas import QuotaRoutes
from stagepost.web.redrives import RedriveRoutes
from stagepost.web.roles import HEADS, ROLES, SHARED
from stagepost.web.rules import RuleRoutes
from stagepost.web.schedules import ScheduleRoutes
from stagepost.web.shared_limits import SharedLimitRoutes
from stagepost.web.signals import SignalRoutes
from stagepost.web.status import StatusReader, StatusRoutes
from stagepost.web.stream import PATH as STREAM
from stagepost.web.stream import Progress
from stagepost.web.streams import Streams
from stagepost.web.submit import PATH as SUBMIT
from stagepost.web.submit import Submit
from stagepost.web.tasks import TaskRoutes
from stagepost.web.uploads import UploadRoutes
from stagepost.web.usage import UsageRoutes
from stagepost.web.what_if import WhatIfRoutes


def create_app(parts: Parts) -> Envelope:
    """The HTTP API as an ASGI application; its lifespan runs what its streams need."""
    metrics = Metrics(parts.app.types, parts.model_names())
    keyring = Keyring(parts.store, parts.clock)
    door = Door(parts.settings, keyring)
    streams = Streams(parts.settings.limits, keyring, metrics, parts.draining)
    reader = StatusReader(parts)
    statuses = StatusRoutes(parts, reader)
    app = _bare_app(parts, streams, metrics)
    types, release = parts.app.types.values(), version("stagepost")
    docs = DocRoutes(lambda: openapi_document(app, types, parts.settings, release))
    # Before submit, which takes whatever else stands in that place for a type.
    for operation in CancelRoutes(parts).operations():
        _add(app, operation, door)
    # Then the two that are written by hand: submit is looked for most often.
    app.router.routes.append(Route(SUBMIT, Submit(parts, door, reader, statuses), methods=["POST"]))
    progress = Progress(parts, door, reader, streams, metrics)
    app.router.routes.append(Route(STREAM, progress, methods=["GET"]))
    for routes in (
        statuses,
        TaskRoutes(parts, reader),
        CallRoutes(parts, reader),
        ErasureRoutes(parts),
        SignalRoutes(parts),
        ArtifactRoutes(parts, reader),
        UploadRoutes(parts),
        BatchRoutes(parts, reader),
        DeadLetterRoutes(parts, reader),
        RedriveRoutes(parts),
        LaneRoutes(parts),
        AlertRoutes(parts),
        SharedLimitRoutes(parts),
        UsageRoutes(parts),
        WhatIfRoutes(parts, reader),
        ScheduleRoutes(parts, reader),
        RuleRoutes(parts),
        KeyRoutes(parts, keyring),
        BudgetRoutes(parts),
        QuotaRoutes(parts),
        HealthRoutes(parts, metrics),
        docs,
    ):
        for operation in routes.operations():
            _add(app, operation, door)
    return Envelope(app, door, metrics)


def _bare_app(parts: Parts, streams: Streams, metrics: Metrics) -> FastAPI:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        with listening(metrics, parts):
            async with asyncio.TaskGroup() as group:
                keeping = group.create_task(streams.run(), name="streams")
                yield
                keeping.cancel()

    return FastAPI(
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        exception_handlers={
            Disconnected: _say_nothing,
            Problem: _refuse,
            StagepostError: _refuse_known,
            RequestValidationError: _refuse_parameters,
            HTTPException: _refuse_route,
            Exception: _refuse,
        },
    )


def _add(app: FastAPI, operation: Operation, door: Door) -> None:
    method, path = operation.method, operation.path
    # An artifact's name may have slashes in it; in tables and documents it is just {name}.
    route = path.replace(":path}", "}")
    of_all = (method, route) in SHARED
    guards = [Depends(door.requires(ROLES[method, route], route, for_all=of_all))]
    if "query" not in signature(operation.endpoint).parameters:
        guards.append(Depends(_no_parameters))
    body = request_body_of(operation)
    app.router.add_api_route(
        path,
        operation.endpoint,
        methods=[method],
        summary=(operation.endpoint.__doc__ or "").partition("\n")[0].rstrip("."),
        operation_id=operation.endpoint.__qualname__.replace("Routes.", "-").lower(),
        tags=[path.split("/")[3] if path.startswith("/api/") else "server"],
        status_code=next(iter(operation.answers)),
        responses=responses_of(operation),
        response_model=None,
        # Only for the document: the endpoints make their answers themselves.
        response_class=JSONResponse,
        dependencies=guards,
        openapi_extra=None if body is None else {"requestBody": body},
    )


async def _no_parameters(request: Request) -> None:
    query = request.scope["query_string"]
    if query:
        given = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
        raise unknown_parameter(given[0][0] if given else "", ())


class _Silence(Response):
    """The answer to somebody who has gone."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send nothing."""


async def _say_nothing(_request: Request, _error: Exception) -> Response:
    return _Silence()


async def _refuse(_request: Request, error: Exception) -> Response:
    return problem_of(error).response()


async def _refuse_known(_request: Request, error: Exception) -> Response:
    problem = problem_of(error)
    if problem.kind is Kind.INTERNAL:
        # The caller is told that the log has the cause: the envelope writes what reaches it.
        raise error
    return problem.response()


async def _refuse_parameters(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    faults: list[Fault] = []
    for fault in error.errors():
        place, *names = fault["loc"]
        name = str(names[0]) if names else ""
        if fault["type"] == "extra_forbidden" and place == "query":
            return unknown_parameter(name, _known_parameters(request)).response()
        where = {"parameter": name} if place in {"query", "path"} else {"pointer": pointer(names)}
        faults.append({"detail": sentence(fault["msg"]), **where})
    first = faults[0]
    name = first.get("parameter") or first["pointer"]
    detail = f"{name} is not valid: {first['detail'].rstrip('.')}."
    return Problem(Kind.VALIDATION, detail, faults=faults).response()


def _known_parameters(request: Request) -> Sequence[str]:
    route = request.scope["route"]
    models = (field.field_info.annotation for field in route.dependant.query_params)
    return [field.alias for model in models for field in model.model_fields.values()]


async def _refuse_route(request: Request, error: Exception) -> Response:
    """What the router itself refuses: a path that is not there, a method it does not take."""
    assert isinstance(error, HTTPException)
    if error.status_code == Kind.METHOD_NOT_ALLOWED.status:
        allowed = ", ".join(_methods_at(request))
        return Problem(
            Kind.METHOD_NOT_ALLOWED, f"This path takes {allowed}.", headers={"Allow": allowed}
        ).response()
    if error.status_code == Kind.NOT_FOUND.status:
        return Problem(Kind.NOT_FOUND, "There is nothing at this path; see /docs.").response()
    return problem_of(error).response()


def _methods_at(request: Request) -> Iterable[str]:
    methods = {"HEAD"} if request.scope["path"] in HEADS else set()
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        scope = {**request.scope, "method": method}
        if any(route.matches(scope)[0] is Match.FULL for route in request.app.router.routes):
            methods.add(method)
    return sorted(methods)
