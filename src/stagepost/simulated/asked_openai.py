"""Requests in OpenAI's language: chat completions and embeddings."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from stagepost.simulated.asked import (
    MOST_INPUTS,
    Asked,
    BadRequest,
    Tool,
    call_key_of,
    counted,
    digest_of,
    last_of,
    messages_of,
    model_of,
    named,
    required,
    texts_in,
)

CHAT: Final = "/v1/chat/completions"
EMBEDDINGS: Final = "/v1/embeddings"

_ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_CHOICES: Final = frozenset({"none", "auto", "required"})
_MOST_DIMENSIONS: Final = 4_096
_MOST_NUMBERS: Final = 1_000_000
"""Of all vectors of one answer."""


def chat(body: Mapping[str, Any], headers: Mapping[str, str], credential: str) -> Asked:
    """A request for a chat completion. Raises BadRequest."""
    messages = messages_of(body, _ROLES)
    texts = [text for message in messages for text in texts_in(message.get("content"))]
    if named(body, "n", int, default=1) != 1:
        raise BadRequest("This provider makes one choice: 'n' must be 1.", "n")
    tools = _tools(body)
    schema, json = _format(body)
    stream = named(body, "stream", bool, default=False)
    return Asked(
        path=CHAT,
        model=model_of(body),
        text="\n".join(texts),
        last=last_of(messages),
        messages=len(messages),
        most=counted(body, "max_completion_tokens") or counted(body, "max_tokens"),
        stream=stream,
        tells_usage=bool(named(body, "stream_options", dict, default={}).get("include_usage")),
        schema=schema,
        json=json,
        tools=tools,
        choice=_choice(body, tools),
        body=body,
        digest=digest_of(CHAT, body),
        call_key=call_key_of(headers, body),
        credential=credential,
    )


def embeddings(body: Mapping[str, Any], headers: Mapping[str, str], credential: str) -> Asked:
    """A request for embeddings. Raises BadRequest."""
    inputs = _inputs(body.get("input"))
    form = named(body, "encoding_format", str, default="float")
    if form not in {"float", "base64"}:
        raise BadRequest("Invalid value for 'encoding_format': float or base64.", "encoding_format")
    dimensions = counted(body, "dimensions")
    most = min(_MOST_DIMENSIONS, _MOST_NUMBERS // len(inputs))
    if dimensions is not None and dimensions > most:
        raise BadRequest(f"'dimensions' must be at most {most} for so many texts.", "dimensions")
    return Asked(
        path=EMBEDDINGS,
        model=model_of(body),
        text="\n".join(inputs),
        inputs=inputs,
        dimensions=dimensions,
        base64=form == "base64",
        body=body,
        digest=digest_of(EMBEDDINGS, body),
        call_key=call_key_of(headers, body),
        credential=credential,
    )


def _format(body: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, bool]:
    form = named(body, "response_format", dict, default={})
    match form.get("type", "text"):
        case "text":
            return None, False
        case "json_object":
            return None, True
        case "json_schema":
            inner = required(form, "json_schema", dict)
            schema: Mapping[str, Any] = required(inner, "schema", dict)
            return schema, True
    raise BadRequest(
        "Invalid value for 'response_format.type': text, json_object or json_schema.",
        "response_format.type",
    )


def _tools(body: Mapping[str, Any]) -> Sequence[Tool]:
    found = []
    for number, tool in enumerate(named(body, "tools", list, default=[])[:128]):
        function = tool.get("function") if isinstance(tool, Mapping) else None
        if not isinstance(function, Mapping):
            raise BadRequest(f"Missing required parameter: 'tools[{number}].function'.", "tools")
        parameters = named(function, "parameters", dict, default={"type": "object"})
        found.append(Tool(required(function, "name", str), parameters))
    return found


def _choice(body: Mapping[str, Any], tools: Sequence[Tool]) -> str:
    choice = body.get("tool_choice", "auto")
    if isinstance(choice, Mapping):
        function = named(choice, "function", dict, default={})
        choice = required(function, "name", str)
        if choice not in {tool.name for tool in tools}:
            raise BadRequest(f"Tool choice '{choice}' is not among 'tools'.", "tool_choice")
        return str(choice)
    if choice not in _CHOICES:
        raise BadRequest("Invalid value for 'tool_choice': none, auto, required.", "tool_choice")
    return str(choice)


def _inputs(value: Any) -> Sequence[str]:
    """Texts; lists of token numbers are taken for texts of their own."""
    if isinstance(value, str):
        found = [value]
    elif isinstance(value, list) and value and all(isinstance(each, int) for each in value):
        found = [_of_numbers(value)]
    elif isinstance(value, list):
        found = [_of_numbers(each) if isinstance(each, list) else each for each in value]
    else:
        found = []
    if not found or len(found) > MOST_INPUTS or not all(isinstance(e, str) and e for e in found):
        raise BadRequest(
            f"'input' must be a text, or from 1 to {MOST_INPUTS} texts, none of them empty.",
            "input",
        )
    return found


def _of_numbers(numbers: Sequence[Any]) -> str:
    return " ".join(str(number) for number in numbers)
