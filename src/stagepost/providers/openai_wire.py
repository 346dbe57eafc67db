"""OpenAI's language: requests as its providers take them, answers as they give them. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from stagepost.llm.dialect import Dialect, Structured
from stagepost.llm.provider import (
    ChatRequest,
    Finish,
    Form,
    Message,
    OneTool,
    Tool,
    ToolUse,
    Usage,
)
from stagepost.llm.strict_schema import strict_schema
from stagepost.llm.structured import with_instruction
from stagepost.providers.gathered import ANSWER_TOOL, Gathered
from stagepost.providers.reading import count, inner, items, text

_BY_WORD: Final = {
    "stop": Finish.STOP, "STOP": Finish.STOP,
    "length": Finish.LENGTH, "MAX_TOKENS": Finish.LENGTH,
    "tool_calls": Finish.TOOL_CALLS, "function_call": Finish.TOOL_CALLS,
    "content_filter": Finish.CONTENT_FILTER,
}  # fmt: skip
_SAMPLING: Final = ("temperature", "top_p", "seed", "presence_penalty", "frequency_penalty")
_THOUGHTS: Final = ("reasoning_content", "reasoning")


def body_of(request: ChatRequest, dialect: Dialect, way: Structured) -> dict[str, Any]:
    """The body that asks for this, but for `extra`."""
    messages = request.messages
    if request.form is not None and way in {Structured.OBJECT, Structured.PROMPT}:
        messages = with_instruction(messages, request.form)
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [_message(each) for each in messages],
        _most_tokens(dialect): request.max_output_tokens,
    }
    sampling = {name: getattr(request.sampling, name) for name in _SAMPLING}
    body |= {name: value for name, value in sampling.items() if value is not None}
    if request.stop:
        body["stop"] = list(request.stop)
    return body | _tools(request, way) | _format(request.form, way)


def finish_of(gathered: Gathered) -> Finish:
    """Our word for the reason of its end."""
    if gathered.finish is None:
        return Finish.MISSING
    return _BY_WORD.get(gathered.finish, Finish.OTHER)


def take(gathered: Gathered, part: Mapping[str, Any]) -> str:
    """Add a whole answer, or a chunk of one; gives the text that is new."""
    gathered.model = gathered.model or text(part, "model")
    gathered.id = gathered.id or text(part, "id")
    usage = inner(part, "usage")
    if usage:
        gathered.usage = usage_of(usage)
    new = [_choice(gathered, choice) for choice in items(part, "choices")[:1]]
    return "".join(new)


def usage_of(usage: Mapping[str, Any]) -> Usage:
    """The tokens that were used."""
    cached = count(usage, "prompt_tokens_details", "cached_tokens")
    if cached is None:
        cached = count(usage, "prompt_cache_hit_tokens")  # DeepSeek
    return Usage(
        input=count(usage, "prompt_tokens"),
        cached_input=cached,
        output=count(usage, "completion_tokens"),
        reasoning=count(usage, "completion_tokens_details", "reasoning_tokens"),
    )


def _choice(gathered: Gathered, choice: Mapping[str, Any]) -> str:
    said = inner(choice, "delta") or inner(choice, "message")
    for name in _THOUGHTS:
        gathered.thought(text(said, name))
    gathered.refuse(text(said, "refusal"))
    new = gathered.say(text(said, "content"))
    for call in items(said, "tool_calls"):
        new += _call(gathered, call)
    gathered.end(text(choice, "finish_reason"))
    return new


def _call(gathered: Gathered, call: Mapping[str, Any]) -> str:
    function, id_ = inner(call, "function"), text(call, "id")
    index = count(call, "index")
    # A whole answer has no indexes, and some streams have none either.
    key = f"{index}" if index is not None else (id_ or gathered.last_call())
    return gathered.call(key, id_, text(function, "name"), text(function, "arguments"))


def _most_tokens(dialect: Dialect) -> str:
    # OpenAI's reasoning models refuse the old name, most others don't know the new one.
    new = dialect in {Dialect.OPENAI, Dialect.AZURE}
    return "max_completion_tokens" if new else "max_tokens"


def _message(message: Message) -> dict[str, Any]:
    found: dict[str, Any] = {"role": message.role.value, "content": message.content}
    if message.tool_calls:
        found["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id:
        found["tool_call_id"] = message.tool_call_id
    return found


def _tools(request: ChatRequest, way: Structured) -> dict[str, Any]:
    tools, use = list(request.tools), request.tool_use
    if request.form is not None and way is Structured.TOOL:
        use = ToolUse.ANY if tools else OneTool(ANSWER_TOOL)
        tools.append(Tool(ANSWER_TOOL, "Gives the answer.", request.form.schema))
    if not tools:
        return {}
    return {"tools": [_tool(tool) for tool in tools], "tool_choice": _choice_of(use)}


def _tool(tool: Tool) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
    return {"type": "function", "function": function}


def _choice_of(use: ToolUse | OneTool) -> Any:
    match use:
        case OneTool(name):
            return {"type": "function", "function": {"name": name}}
        case ToolUse.ANY:
            return "required"
        case _:
            return use.value


def _format(form: Form | None, way: Structured) -> dict[str, Any]:
    if form is None:
        return {}
    match way:
        case Structured.SCHEMA:
            strict = strict_schema(form.schema)
            schema = dict(form.schema) if strict is None else strict
            wish = {"name": form.name, "schema": schema, "strict": strict is not None}
            return {"response_format": {"type": "json_schema", "json_schema": wish}}
        case Structured.OBJECT:
            return {"response_format": {"type": "json_object"}}
        case _:
            return {}
