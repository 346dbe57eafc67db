"""Anthropic's language: requests as it takes them, answers as it gives them. Pure.

It wants the system's words apart from the messages, the results of tools as words of the user, and
always a bound on the answer. Its count of input leaves the cached tokens out; ours holds them.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from stagepost.llm.dialect import Structured
from stagepost.llm.provider import ChatRequest, Finish, Message, OneTool, Role, Tool, ToolUse, Usage
from stagepost.llm.strict_schema import strict_schema
from stagepost.llm.structured import with_instruction
from stagepost.providers.gathered import ANSWER_TOOL, Gathered
from stagepost.providers.reading import count, inner, items, text

_BY_WORD: Final = {
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "tool_use": Finish.TOOL_CALLS,
    "refusal": Finish.CONTENT_FILTER,
}
_INPUT: Final = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def body_of(request: ChatRequest, way: Structured) -> dict[str, Any]:
    """The body that asks for this, but for `extra`."""
    strict = strict_schema(request.form.schema) if request.form is not None else None
    messages = request.messages
    if request.form is not None and not _held(way, strict):
        messages = with_instruction(messages, request.form)
    body: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_output_tokens,
        "messages": _turns(each for each in messages if each.role is not Role.SYSTEM),
    }
    system = [each.content for each in messages if each.role is Role.SYSTEM and each.content]
    if system:
        body["system"] = "\n\n".join(system)
    if request.sampling.temperature is not None:
        body["temperature"] = request.sampling.temperature
    if request.sampling.top_p is not None:
        body["top_p"] = request.sampling.top_p
    if request.stop:
        body["stop_sequences"] = list(request.stop)
    if way is Structured.SCHEMA and strict is not None:
        body["output_config"] = {"format": {"type": "json_schema", "schema": strict}}
    return body | _tools(request, way)


def finish_of(gathered: Gathered) -> Finish:
    """Our word for the reason of its end."""
    if gathered.finish is None:
        return Finish.MISSING
    return _BY_WORD.get(gathered.finish, Finish.OTHER)


def take_message(gathered: Gathered, message: Mapping[str, Any]) -> str:
    """Add a whole answer; gives its text."""
    _begin(gathered, message)
    new = [_block(gathered, block) for block in items(message, "content")]
    _end(gathered, message)
    return "".join(new)


def take_event(gathered: Gathered, event: Mapping[str, Any]) -> str:
    """Add an event of a stream; gives the text that is new."""
    match text(event, "type"):
        case "message_start":
            _begin(gathered, inner(event, "message"))
        case "content_block_start":
            return _start(gathered, event)
        case "content_block_delta":
            return _delta(gathered, event)
        case "message_delta":
            _end(gathered, inner(event, "delta"))
            _count(gathered, inner(event, "usage"))
    return ""


def _held(way: Structured, strict: Mapping[str, Any] | None) -> bool:
    # It has no mode for "any JSON", and none for a schema that is not strict.
    return way is Structured.TOOL or (way is Structured.SCHEMA and strict is not None)


def _block(gathered: Gathered, block: Mapping[str, Any]) -> str:
    if text(block, "type") != "tool_use":
        return gathered.say(text(block, "text"))
    arguments = json.dumps(block.get("input", {}), ensure_ascii=False)
    return gathered.call(text(block, "id"), text(block, "id"), text(block, "name"), arguments)


def _begin(gathered: Gathered, message: Mapping[str, Any]) -> None:
    gathered.model, gathered.id = text(message, "model"), text(message, "id")
    _count(gathered, inner(message, "usage"))


def _end(gathered: Gathered, told: Mapping[str, Any]) -> None:
    reason = text(told, "stop_reason")
    if reason == "refusal":
        why = text(inner(told, "stop_details"), "explanation")
        gathered.refuse(why or "The model has refused to answer.")
    gathered.end(reason)


def _count(gathered: Gathered, usage: Mapping[str, Any]) -> None:
    # The end of a stream counts anew what it counts, and leaves out the rest.
    parts = [count(usage, name) for name in _INPUT]
    known = [part for part in parts if part is not None]
    before, output = gathered.usage, count(usage, "output_tokens")
    cached, thought = parts[1], count(usage, "output_tokens_details", "thinking_tokens")
    gathered.usage = Usage(
        input=sum(known) if parts[0] is not None else before.input,
        cached_input=before.cached_input if cached is None else cached,
        output=before.output if output is None else output,
        reasoning=before.reasoning if thought is None else thought,
    )


def _start(gathered: Gathered, event: Mapping[str, Any]) -> str:
    block = inner(event, "content_block")
    if text(block, "type") == "tool_use":
        return gathered.call(_key(event), text(block, "id"), text(block, "name"), "")
    return gathered.say(text(block, "text"))


def _delta(gathered: Gathered, event: Mapping[str, Any]) -> str:
    delta = inner(event, "delta")
    gathered.thought(text(delta, "thinking"))
    if text(delta, "type") == "input_json_delta":
        return gathered.call(_key(event), "", "", text(delta, "partial_json"))
    return gathered.say(text(delta, "text"))


def _key(event: Mapping[str, Any]) -> str:
    return f"{count(event, 'index')}"


def _turns(messages: Iterable[Message]) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message.role is Role.ASSISTANT else "user"
        blocks = _blocks(message)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    return [turn for turn in turns if turn["content"]]


def _blocks(message: Message) -> list[dict[str, Any]]:
    if message.role is Role.TOOL:
        result = {"tool_use_id": message.tool_call_id, "content": message.content}
        return [{"type": "tool_result", **result}]
    said = [{"type": "text", "text": message.content}] if message.content else []
    calls = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _object(call.arguments)}
        for call in message.tool_calls
    ]
    return [*said, *calls]


def _object(arguments: str) -> dict[str, Any]:
    try:
        found = json.loads(arguments)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"no_json_object": arguments}


def _tools(request: ChatRequest, way: Structured) -> dict[str, Any]:
    tools, use = list(request.tools), request.tool_use
    if request.form is not None and way is Structured.TOOL:
        use = ToolUse.ANY if tools else OneTool(ANSWER_TOOL)
        tools.append(Tool(ANSWER_TOOL, "Gives the answer.", request.form.schema))
    if not tools:
        return {}
    told = [
        {
            "name": tool.name,
            "description": tool.description,
            "input_schema": {"type": "object", **tool.parameters},
        }
        for tool in tools
    ]
    choice = {"type": "tool", "name": use.name} if isinstance(use, OneTool) else {"type": use.value}
    return {"tools": told, "tool_choice": choice}
