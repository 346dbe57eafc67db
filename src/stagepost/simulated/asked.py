"""A request as the provider understands it, whichever language it came in. Pure."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

MOST_MESSAGES: Final = 10_000
MOST_NAME: Final = 200
MOST_INPUTS: Final = 2_048
"""Texts of one request for embeddings."""
_EACH_MESSAGE: Final = 4  # tokens that a message costs beside its text


class BadRequest(Exception):
    """What was asked for makes no sense; says what does, and of which parameter."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may ask to be called."""

    name: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request.

    `text` is the whole prompt, `last` what the user said last. `most` tokens may be answered; None
    where the caller does not say. `choice` is auto, none, required or a tool's name. `digest` is
    the hash of the content, `call_key` what the caller itself calls this call.
    """

    path: str
    model: str
    text: str
    last: str = ""
    messages: int = 0
    most: int | None = None
    stream: bool = False
    tells_usage: bool = False
    schema: Mapping[str, Any] | None = None
    json: bool = False
    tools: Sequence[Tool] = ()
    choice: str = "auto"
    inputs: Sequence[str] = ()
    dimensions: int | None = None
    base64: bool = False
    body: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""
    call_key: str | None = None
    credential: str = ""

    @property
    def overhead(self) -> int:
        """Tokens beside those of the text."""
        return _EACH_MESSAGE * self.messages


def digest_of(path: str, body: Mapping[str, Any]) -> str:
    """The hash of a request's content; the same however its keys are ordered."""
    # Whether it is streamed changes how an answer comes, not what is paid for.
    content = {name: value for name, value in body.items() if not name.startswith("stream")}
    text = orjson.dumps([path, content], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(text).hexdigest()


def call_key_of(headers: Mapping[str, str], body: Mapping[str, Any]) -> str | None:
    """What the caller calls this call: the header x-stagepost-call, else its metadata's `call`."""
    named = headers.get("x-stagepost-call")
    metadata = body.get("metadata")
    if named is None and isinstance(metadata, Mapping):
        named = metadata.get("call")
    return named[:200] if isinstance(named, str) and named else None


def texts_in(content: Any) -> Iterator[str]:
    """The texts of a message's content: one text, or parts of which some are texts."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, Mapping):
                for name in ("text", "content"):
                    yield from texts_in(part.get(name))


def named(body: Mapping[str, Any], name: str, kind: type, *, default: Any = None) -> Any:
    """A field of its type. Raises BadRequest; without a default it must be there."""
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise BadRequest(f"Invalid type for '{name}': expected {_WORDS[kind]}.", name)
    return value


def required(body: Mapping[str, Any], name: str, kind: type) -> Any:
    """The same for what must be there. Raises BadRequest."""
    value = named(body, name, kind)
    if value is None or value == "":
        raise BadRequest(f"Missing required parameter: '{name}'.", name)
    return value


def model_of(body: Mapping[str, Any]) -> str:
    """The model's name. Raises BadRequest."""
    model: str = required(body, "model", str)
    if len(model) > MOST_NAME:
        raise BadRequest(f"A model's name has at most {MOST_NAME} characters.", "model")
    return model


def counted(body: Mapping[str, Any], name: str) -> int | None:
    """A number of at least 1. Raises BadRequest."""
    value: int | None = named(body, name, int)
    if value is not None and not 1 <= value <= 10_000_000:
        raise BadRequest(f"Invalid value for '{name}': must be from 1 to 10000000.", name)
    return value


def messages_of(body: Mapping[str, Any], roles: frozenset[str]) -> Sequence[Mapping[str, Any]]:
    """The messages, each with a role that is known. Raises BadRequest."""
    found: list[Any] = required(body, "messages", list)
    if not 1 <= len(found) <= MOST_MESSAGES:
        raise BadRequest(f"'messages' must have from 1 to {MOST_MESSAGES} entries.", "messages")
    for number, message in enumerate(found):
        if not isinstance(message, Mapping) or message.get("role") not in roles:
            raise BadRequest(
                f"Invalid value for 'messages[{number}].role': one of {', '.join(sorted(roles))}.",
                f"messages[{number}].role",
            )
    return found


def last_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """What the user said last; empty where a tool has spoken since."""
    last = messages[-1]
    return "\n".join(texts_in(last.get("content"))) if last.get("role") == "user" else ""


_WORDS: Final[Mapping[type, str]] = {
    str: "a string", int: "an integer", bool: "a boolean", list: "an array", dict: "an object",
}  # fmt: skip
