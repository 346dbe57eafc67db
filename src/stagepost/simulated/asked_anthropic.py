"""Requests in Anthropic's language: messages."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from stagepost.simulated.asked import (
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

MESSAGES: Final = "/v1/messages"

_ROLES: Final = frozenset({"user", "assistant"})
_CHOICES: Final[Mapping[str, str]] = {"auto": "auto", "any": "required", "none": "none"}


def messages(body: Mapping[str, Any], headers: Mapping[str, str], credential: str) -> Asked:
    """A request for a message. Raises BadRequest."""
    found = messages_of(body, _ROLES)
    most = counted(body, "max_tokens")
    if most is None:
        raise BadRequest("max_tokens: Field required", "max_tokens")
    texts = [*texts_in(body.get("system"))]
    texts += [text for message in found for text in texts_in(message.get("content"))]
    tools = _tools(body)
    schema = _schema(body)
    return Asked(
        path=MESSAGES,
        model=model_of(body),
        text="\n".join(texts),
        last=last_of(found),
        messages=len(found) + ("system" in body),
        most=most,
        stream=named(body, "stream", bool, default=False),
        tells_usage=True,
        schema=schema,
        json=schema is not None,
        tools=tools,
        choice=_choice(body, tools),
        body=body,
        digest=digest_of(MESSAGES, body),
        call_key=call_key_of(headers, body),
        credential=credential,
    )


def _schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    config = named(body, "output_config", dict, default={})
    form = named(config, "format", dict) or named(body, "output_format", dict)
    if form is None:
        return None
    schema: Mapping[str, Any] = required(form, "schema", dict)
    return schema


def _tools(body: Mapping[str, Any]) -> Sequence[Tool]:
    found = []
    for number, tool in enumerate(named(body, "tools", list, default=[])[:128]):
        if not isinstance(tool, Mapping):
            raise BadRequest(f"tools.{number}: Input should be an object", "tools")
        schema = named(tool, "input_schema", dict, default={"type": "object"})
        found.append(Tool(required(tool, "name", str), schema))
    return found


def _choice(body: Mapping[str, Any], tools: Sequence[Tool]) -> str:
    choice = named(body, "tool_choice", dict, default={"type": "auto"})
    if choice.get("type") == "tool":
        name: str = required(choice, "name", str)
        if name not in {tool.name for tool in tools}:
            raise BadRequest(f"tool_choice: there is no tool {name}", "tool_choice")
        return name
    found = _CHOICES.get(str(choice.get("type")))
    if found is None:
        raise BadRequest("tool_choice.type: one of auto, any, tool, none", "tool_choice")
    return found
