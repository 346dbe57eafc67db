"""Answers in a wanted form: the schema of a Pydantic model, reading what came, asking again. Pure.

The loop is the caller's, since each repair is a call of its own:

    request = replace(request, form=form_of(Finding))
    for _ in range(1 + MOST_REPAIRS):
        answer = await provider.chat(request)
        found = read_answer(answer.text, Finding)
        if not isinstance(found, Unfit):
            return found
        request = repaired(request, answer.text, found)
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from stagepost.llm.provider import ChatRequest, Form, Message, Role

MOST_REPAIRS: Final = 2

_MOST_FAULTS: Final = 10
_MOST_TEXT: Final = 200  # characters of one fault
_MOST_QUOTED: Final = 100_000  # characters of a bad answer that are shown to the model again
_LONGEST_NAME: Final = 64

_FENCED: Final = re.compile(r"```[a-zA-Z0-9_+-]*(.*?)```", re.DOTALL)
_THOUGHT: Final = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why an answer is not what was wanted: a sentence for each fault, at most ten."""

    faults: tuple[str, ...]


def form_of(model: type[BaseModel]) -> Form:
    """The form of a model's answers. Raises TypeError if they would be no JSON object."""
    schema = model.model_json_schema()
    schema = _rooted(schema)
    if schema.get("type") != "object":
        raise TypeError(
            f"{model.__name__} is no object in JSON, and a model's answer is one: give it a field."
        )
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", model.__name__)[:_LONGEST_NAME]
    return Form(name, schema)


def instruction(form: Form) -> str:
    """The wish in words, for providers that can't be held to a schema."""
    schema = json.dumps(form.schema, ensure_ascii=False)
    return (
        "Answer with one JSON object and nothing else: no prose before or after it, no code fence. "
        f"It has to be valid by this JSON Schema:\n{schema}"
    )


def with_instruction(messages: tuple[Message, ...], form: Form) -> tuple[Message, ...]:
    """The same messages, the wish at the end of the first system message, or as one of its own.

    Some chat templates take one system message only, and only as the first.
    """
    first, wish = messages[0], instruction(form)
    if first.role is Role.SYSTEM:
        return (replace(first, content=f"{first.content}\n\n{wish}"), *messages[1:])
    return (Message(Role.SYSTEM, wish), *messages)


def read_answer(text: str, model: type[Model]) -> Model | Unfit:
    """What the text holds: the model, out of its fence or prose if need be, or what is wrong."""
    unfit: Unfit | None = None
    for candidate in _candidates(text):
        try:
            return model.model_validate_json(candidate)
        except ValidationError as error:
            unfit = unfit or _unfit(error)
    return unfit or Unfit(("The answer holds no JSON object.",))


def repaired(request: ChatRequest, text: str, unfit: Unfit) -> ChatRequest:
    """The request that asks for the same again, naming what was wrong."""
    faults = "\n".join(f"- {fault}" for fault in unfit.faults)
    wish = (
        "Your answer can't be used:\n"
        f"{faults}\n"
        "Answer again with the whole corrected JSON object and nothing else."
    )
    said = Message(Role.ASSISTANT, text[:_MOST_QUOTED] or "(nothing)")
    return replace(request, messages=(*request.messages, said, Message(Role.USER, wish)))


def _rooted(schema: dict[str, Any]) -> dict[str, Any]:
    # Of a model that holds itself, Pydantic gives a reference as the root.
    place = schema.get("$ref", "")
    found: Any = schema.get("$defs", {}).get(place.rpartition("/")[2])
    return {**found, "$defs": schema["$defs"]} if isinstance(found, Mapping) else schema


def _candidates(text: str) -> Iterator[str]:
    # The likeliest first, since the faults of the first are told.
    text = _THOUGHT.sub("", text.lstrip("\ufeff"), count=1).strip()
    if text.startswith("{"):
        yield text
    for fenced in _FENCED.findall(text)[:_MOST_FAULTS]:
        yield fenced.strip()
    start, end = text.find("{"), text.rfind("}")
    if 0 <= start < end and (start > 0 or end < len(text) - 1):
        yield text[start : end + 1]


def _unfit(error: ValidationError) -> Unfit:
    faults = error.errors(include_url=False, include_input=False, include_context=False)
    return Unfit(tuple(_fault(fault["loc"], fault["msg"]) for fault in faults[:_MOST_FAULTS]))


def _fault(place: tuple[int | str, ...], what: str) -> str:
    where = ".".join(str(part) for part in place)
    return (f"{where}: {what}" if where else what)[:_MOST_TEXT]
