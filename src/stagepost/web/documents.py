"""The OpenAPI document: the routes as they are declared, and one path for each registered type."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter

from stagepost.settings import Settings
from stagepost.task_type import TaskType
from stagepost.web.answers import Operation
from stagepost.web.options import PRIORITY_MOST
from stagepost.web.problems import MEDIA_TYPE
from stagepost.web.schemas import Accepted
from stagepost.web.stream import PATH as STREAM

_REF: Final = "#/components/schemas/"
_TEMPLATE: Final = _REF + "{model}"
_ALWAYS: Final = (400, 401, 403, 422, 429, 500, 503)
"""Refusals that any route may answer with."""

_PROBLEM: Final[Mapping[str, Any]] = {
    "type": "object",
    "description": "A refusal, as RFC 9457 has it.",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "pattern": "^urn:stagepost:problem:[a-z-]+$"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["detail"],
                "properties": {
                    "detail": {"type": "string"},
                    "pointer": {"type": "string"},
                    "parameter": {"type": "string"},
                    "header": {"type": "string"},
                },
            },
        },
    },
}
_FILE_IN_JSON: Final[Mapping[str, Any]] = {
    "type": "string",
    "format": "uuid",
    "description": "The id of an upload.",
}
_FILE_IN_FORM: Final[Mapping[str, Any]] = {"type": "string", "format": "binary"}
_DESCRIPTION: Final = (
    "Submit long tasks, watch them live, fetch their results. Errors are RFC 9457 problem "
    "documents; lists are paged by key; unknown query parameters are refused."
)


def responses_of(operation: Operation) -> dict[int | str, dict[str, Any]]:
    """An operation's answers in FastAPI's words."""
    responses: dict[int | str, dict[str, Any]] = {}
    for status, shape in operation.answers.items():
        described: dict[str, Any] = {"description": _good(status)}
        if operation.media_type != "application/json":
            described["content"] = {operation.media_type: {"schema": {"type": "string"}}}
        elif shape is not None:
            described["model"] = shape
        if operation.headers:
            described["headers"] = {
                name: {"description": text, "schema": {"type": "string"}}
                for name, text in operation.headers.items()
            }
        responses[status] = described
    # What was there may be pruned or erased.
    gone = {410} if "{task_id}" in operation.path and 404 in operation.problems else set()
    for status in {*_ALWAYS, *operation.problems, *gone} - set(operation.answers):
        responses[status] = _problem_response()
    return responses


def request_body_of(operation: Operation) -> dict[str, Any] | None:
    """An operation's body; None when it takes none."""
    if operation.form is not None:
        content = {"multipart/form-data": {"schema": operation.form}}
        return {"required": True, "content": content}
    if operation.body is None:
        return None
    schema = _inlined(TypeAdapter(operation.body).json_schema())
    content = {"application/json": {"schema": schema}}
    if operation.lines:
        content["application/x-ndjson"] = {"schema": {"type": "string"}}
    return {"required": operation.body_required, "content": content}


def openapi_document(
    app: FastAPI, types: Iterable[TaskType], settings: Settings, version: str
) -> dict[str, Any]:
    """The whole document."""
    document = get_openapi(
        title="Stagepost", version=version, description=_DESCRIPTION, routes=app.routes
    )
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas["Problem"] = _PROBLEM
    schemas["Accepted"] = TypeAdapter(Accepted).json_schema(ref_template=_TEMPLATE)
    document["paths"][STREAM] = {"get": _stream_operation()}
    for task_type in types:
        path = f"/api/v1/tasks/{task_type.name}"
        document["paths"][path] = {"post": _submit_operation(task_type, schemas, settings)}
    if "keys" in settings.auth:
        document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"key": []}, {}] if "local" in settings.auth else [{"key": []}]
    return document


def _submit_operation(
    task_type: TaskType, schemas: dict[str, Any], settings: Settings
) -> dict[str, Any]:
    schema = task_type.input_schema()
    as_json = _localised(schema, schemas, task_type.name, _FILE_IN_JSON)
    # A form may bring a part of the input, or all of it, in its part `input`.
    open_schema = {name: part for name, part in schema.items() if name != "additionalProperties"}
    as_form = _localised(open_schema, schemas, f"{task_type.name}.form", _FILE_IN_FORM)
    content = {"application/json": {"schema": as_json}}
    if as_form.get("type") == "object":
        content["multipart/form-data"] = {"schema": as_form}
    answers = {
        "202": _answer("Accepted: durable from now on.", f"{_REF}Accepted"),
        "200": {
            "description": "An earlier task, by one of the keys; or, with Prefer: wait, it is "
            "final.",
            "content": _json_content(
                {"anyOf": [{"$ref": f"{_REF}Accepted"}, {"$ref": f"{_REF}TaskStatus"}]}
            ),
        },
    }
    return {
        "tags": ["submit"],
        "summary": f"Submit {task_type.name}",
        "description": (task_type.handler.__doc__ or "").strip(),
        "operationId": f"submit-{task_type.name}",
        "parameters": _submit_parameters(settings),
        "requestBody": {"required": True, "content": content},
        "responses": {**answers, **_problems(404, 409, 413, 415)},
    }


def _submit_parameters(settings: Settings) -> list[dict[str, Any]]:
    limits = settings.limits
    return [
        _parameter("lane", {"type": "string", "enum": list(settings.lanes)}, "Another lane."),
        _parameter(
            "priority",
            {"type": "integer", "minimum": -PRIORITY_MOST, "maximum": PRIORITY_MOST},
            "Seconds of head start over the tenant's other tasks in the lane.",
        ),
        _parameter("runAt", _DATE_TIME, "Not before this instant."),
        _parameter(
            "delaySeconds",
            {"type": "number", "minimum": 0, "maximum": limits.run_ahead_days * 86_400},
            "Not before so many seconds from now; not together with runAt.",
        ),
        _parameter("deadline", _DATE_TIME, "Must be done before this instant."),
        _parameter(
            "tag",
            {
                "type": "array",
                "maxItems": limits.tags,
                "items": {"type": "string", "minLength": 1, "maxLength": limits.tag_length},
            },
            "A word to find the task by; repeatable.",
        ),
        _parameter(
            "concurrencyKey",
            {"type": "string", "minLength": 1, "maxLength": limits.key_length},
            "Of the tenant's tasks with one key only one runs at a time.",
        ),
        _parameter(
            "uniqueKey",
            {"type": "string", "minLength": 1, "maxLength": limits.key_length},
            "While a task of this type and key is not over, it is the answer.",
        ),
        _parameter(
            "debounceSeconds",
            {
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": limits.run_ahead_days * 86_400,
            },
            "Start so long after the last submit with this uniqueKey, with the input of that.",
        ),
        _header(
            "Idempotency-Key",
            {"type": "string", "minLength": 1, "maxLength": limits.key_length},
            "The same key and content within 24 hours is the same task.",
        ),
        _header("Prefer", {"type": "string"}, "wait=N waits up to N seconds for the end."),
    ]


def _stream_operation() -> dict[str, Any]:
    return {
        "tags": ["tasks"],
        "summary": "A task's live events",
        "description": "Server-Sent Events: first status, then the task's numbered events; the "
        "server closes behind an end event. Last-Event-ID (or after) resumes without gap or "
        "repeat; 204 when nothing can follow.",
        "operationId": "stream-progress",
        "parameters": [
            {
                "name": "task_id",
                "in": "path",
                "required": True,
                "schema": {"type": "string"},
            },
            _parameter("after", {"type": "string"}, "The last id that was read."),
            _header("Last-Event-ID", {"type": "string"}, "The same; it wins over after."),
        ],
        "responses": {
            "200": {
                "description": "The stream.",
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
            },
            "204": {"description": "The last event has been read; nothing can follow."},
            **_problems(404, 410),
        },
    }


_DATE_TIME: Final[Mapping[str, Any]] = {"type": "string", "format": "date-time"}


def _parameter(name: str, schema: Mapping[str, Any], text: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema, "description": text}


def _header(name: str, schema: Mapping[str, Any], text: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "schema": schema, "description": text}


def _problems(*statuses: int) -> dict[str, Any]:
    return {str(status): _problem_response() for status in sorted({*_ALWAYS, *statuses})}


def _problem_response() -> dict[str, Any]:
    content = {MEDIA_TYPE: {"schema": {"$ref": f"{_REF}Problem"}}}
    return {"description": "Refused; the problem document says why.", "content": content}


def _answer(text: str, reference: str) -> dict[str, Any]:
    return {"description": text, "content": _json_content({"$ref": reference})}


def _json_content(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _good(status: int) -> str:
    words = {200: "Done.", 201: "Made.", 202: "Under way.", 204: "Done.", 304: "Not modified."}
    return words.get(status, "The answer.")


def _localised(
    schema: Mapping[str, Any], schemas: dict[str, Any], prefix: str, file: Mapping[str, Any]
) -> dict[str, Any]:
    """A type's schema, with its definitions moved among the document's own under its name.

    Two types may have models of one name; and a file is an id in JSON, but bytes in a form.
    """
    definitions: Mapping[str, Any] = schema.get("$defs", {})
    files = {name for name, part in definitions.items() if part.get("format") == "binary"}

    def rewritten(part: Any) -> Any:
        if isinstance(part, list):
            return [rewritten(item) for item in part]
        if not isinstance(part, dict):
            return part
        reference = str(part.get("$ref", ""))
        if not reference.startswith(_REF):
            return {name: rewritten(item) for name, item in part.items() if name != "$defs"}
        name = reference.removeprefix(_REF)
        if name in files:
            return dict(file)
        return {**part, "$ref": f"{_REF}{prefix}.{name}"}

    for name, part in definitions.items():
        if name not in files:
            schemas[f"{prefix}.{name}"] = rewritten(part)
    whole: dict[str, Any] = rewritten(schema)
    return whole


def _inlined(schema: Mapping[str, Any]) -> Any:
    """A schema with its definitions in the places that refer to them; ours do not recur."""
    definitions: Mapping[str, Any] = schema.get("$defs", {})

    def replaced(part: Any) -> Any:
        if isinstance(part, list):
            return [replaced(item) for item in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part:
            return replaced(definitions[str(part["$ref"]).rpartition("/")[2]])
        return {name: replaced(item) for name, item in part.items() if name != "$defs"}

    return replaced(schema)
