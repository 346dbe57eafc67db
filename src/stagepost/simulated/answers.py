"""What the simulated model answers: from the request alone, so the same asked again. Pure."""

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final, Literal

import orjson

from stagepost.simulated.asked import Asked, BadRequest, Tool
from stagepost.simulated.instances import Unsatisfiable, instance_of
from stagepost.simulated.texts import sentences
from stagepost.simulated.tokens import pieces_of

Finish = Literal["stop", "length", "tool_calls", "content_filter"]

MOST_TOKENS: Final = 200_000
"""Of one answer."""

_MALFORMED: Final = (ArithmeticError, AttributeError, LookupError, TypeError)
"""What comes of a schema whose parts are of the wrong kind."""

BAD: Final = "I am afraid that this is {not JSON"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model wants called; `arguments` is JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said, in its tokens, and why it ends there.

    `refusal` is what the model says where it will not answer.
    """

    pieces: Sequence[str] = ()
    calls: Sequence[ToolCall] = ()
    finish: Finish | None = "stop"
    refusal: str | None = None

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self.pieces)

    @property
    def tokens(self) -> int:
        """What is billed for it."""
        more = (pieces_of(call.name + call.arguments) for call in self.calls)
        return len(self.pieces) + sum(map(len, more)) + len(pieces_of(self.refusal or ""))


AnswerFunction = Callable[[Asked], Any | Awaitable[Any]]
"""A caller's own answers: a text, an Answer, anything else as JSON, or None for the usual one."""


def draw_of(asked: Asked, seed: int, purpose: str) -> Random:
    """Chance that is the same for the same request, seed and purpose."""
    return Random(f"{seed}/{purpose}/{asked.digest}")  # noqa: S311  # no secret depends on it


def usual(asked: Asked, seed: int, length: int) -> Answer:
    """The model's own answer, of about `length` tokens where it is plain text.

    Raises BadRequest for a schema that nothing fits.
    """
    draw = draw_of(asked, seed, "answer")
    tool = _wanted_tool(asked)
    if tool is not None:
        arguments = _fitting(tool.parameters, draw, asked)
        call = ToolCall(f"call_{asked.digest[:24]}", tool.name, arguments)
        return Answer(calls=[call], finish="tool_calls")
    if asked.schema is not None:
        return said(_fitting(asked.schema, draw, asked))
    if asked.json:
        return said(orjson.dumps({"answer": sentences(draw, length)}).decode())
    return said(sentences(draw, round(length * draw.uniform(0.5, 1.5))))


def said(value: Any) -> Answer:
    """A text, or anything else as JSON, as an answer. Raises TypeError for what is no JSON."""
    if isinstance(value, Answer):
        return value
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return Answer(pieces_of(text))


def cut_to(answer: Answer, most: int | None) -> Answer:
    """What is left of it when only so many tokens may be answered."""
    most = MOST_TOKENS if most is None else min(most, MOST_TOKENS)
    if len(answer.pieces) <= most:
        return answer
    return replace(answer, pieces=answer.pieces[:most], finish="length")


def embedding(text: str, dimensions: int) -> Sequence[float]:
    """A vector of length 1; texts that share words are near to each other."""
    found = [0.0] * dimensions
    for word in text.lower().split()[:100_000] or [text]:
        digest = hashlib.blake2b(word.encode(), digest_size=16).digest()
        for start in range(0, 16, 4):
            number = int.from_bytes(digest[start : start + 4])
            found[(number >> 1) % dimensions] += 1.0 if number & 1 else -1.0
    length = sum(value * value for value in found) ** 0.5
    if not length:
        return [1.0, *found[1:]]
    return [value / length for value in found]


def _wanted_tool(asked: Asked) -> Tool | None:
    """The tool that is called: one that must be, or that the user speaks of."""
    if not asked.tools or asked.choice == "none":
        return None
    if asked.choice == "required":
        return asked.tools[0]
    by_name: Mapping[str, Tool] = {tool.name: tool for tool in asked.tools}
    if asked.choice != "auto":
        return by_name[asked.choice]
    return next((tool for name, tool in by_name.items() if name in asked.last), None)


def _fitting(schema: Mapping[str, Any], draw: Random, asked: Asked) -> str:
    try:
        return orjson.dumps(instance_of(schema, draw, asked.last or asked.text)).decode()
    except RecursionError as error:
        raise BadRequest("Invalid schema: it refers to itself.", "response_format") from error
    except (Unsatisfiable, ValueError, *_MALFORMED) as error:
        raise BadRequest(
            f"Invalid schema: {error or 'it is malformed.'}", "response_format"
        ) from error
