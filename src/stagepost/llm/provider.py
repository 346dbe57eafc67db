"""PORT. One paid request to a model, whoever serves it.

Terms
    *request*   what is asked: it says all that can change the answer, and nothing else.
    *answer*    what came whole, up to its finish reason.
    *refusal*   why there is no answer that can be used, as `llm/refusal.py` tells it.

Guarantees
    A verb sends exactly one request; nothing is sent again behind the caller's back. It ends: by an
    answer, or within its time-outs and bounds of size by CallRefused, the only exception for
    whatever the provider or the way to it does. Its `refusal.maybe_billed` is False only where
    nobody can have charged for it.

    An answer that was cut by `max_output_tokens` is an answer, with Finish.LENGTH: the caller
    decides what it is worth. One without a finish reason, or refused by a content filter, is none;
    CallRefused then carries what came of it, since it is paid for.

    No key is ever in an answer, an exception or a log line of the adapters.

Texts are whole characters. Counts are tokens as the provider counts them; None where it tells none.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Protocol

from stagepost.errors import StagepostError, Terminal
from stagepost.llm.refusal import Refusal

DEFAULT_OUTPUT: Final = 4_096
"""Tokens of an answer, where the request says nothing."""

MOST_MESSAGES: Final = 10_000
MOST_TOOLS: Final = 128
MOST_TEXTS: Final = 2_048
"""Texts of one request for embeddings."""


class Role(StrEnum):
    """Who says a message; TOOL is the result of a call that the assistant asked for."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model wants called; `arguments` is what it wrote, which should be JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """What was said; a TOOL message names the call that it answers."""

    role: Role
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model may ask for; `parameters` is the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]


class ToolUse(StrEnum):
    """Whether tools may, must not or must be asked for."""

    AUTO = "auto"
    NONE = "none"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class OneTool:
    """This tool must be asked for."""

    name: str


@dataclass(frozen=True, slots=True)
class Form:
    """What a wanted answer looks like: one JSON object that is valid by the schema.

    Adapters ask for it in the way that the provider can; whether the answer has that form is the
    caller's to check.
    """

    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the model draws its tokens; None leaves it to the provider.

    Anthropic knows only `temperature` and `top_p`, and is told nothing of the others.
    """

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """All that can change an answer. `model` is as its provider calls it.

    `extra` are more keys of the body, as the provider names them (`reasoning_effort`,
    `enable_thinking`). Raises ValueError for what no provider takes.
    """

    model: str
    messages: tuple[Message, ...]
    max_output_tokens: int = DEFAULT_OUTPUT
    sampling: Sampling = Sampling()
    form: Form | None = None
    tools: tuple[Tool, ...] = ()
    tool_use: ToolUse | OneTool = ToolUse.AUTO
    stop: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the bounds."""
        if not 1 <= len(self.messages) <= MOST_MESSAGES:
            raise ValueError(f"A request has 1 to {MOST_MESSAGES} messages.")
        if self.max_output_tokens < 1:
            raise ValueError("max_output_tokens is at least 1.")
        if len(self.tools) > MOST_TOOLS:
            raise ValueError(f"A request has at most {MOST_TOOLS} tools.")


@dataclass(frozen=True, slots=True)
class EmbedRequest:
    """Texts whose vectors are wanted. Raises ValueError for none, and for too many."""

    model: str
    texts: tuple[str, ...]
    dimensions: int | None = None

    def __post_init__(self) -> None:
        """Check the bounds."""
        if not 1 <= len(self.texts) <= MOST_TEXTS:
            raise ValueError(f"A request for embeddings has 1 to {MOST_TEXTS} texts.")


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a call. `input` holds the cached ones too, `output` those of reasoning."""

    input: int | None = None
    cached_input: int | None = None
    output: int | None = None
    reasoning: int | None = None


class Finish(StrEnum):
    """Why an answer ended. MISSING: nobody said; OTHER: a word that we don't know."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    CONTENT_FILTER = "content_filter"
    OTHER = "other"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Heard:
    """What an answer, or a refusal, says beside its content.

    `limits` are the headers that tell of rate limits and of waits, by their names in lower case.
    """

    request_id: str = ""
    model: str = ""
    limits: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered."""

    text: str
    finish: Finish
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    heard: Heard = Heard()


@dataclass(frozen=True, slots=True)
class Chunk:
    """The next piece of an answer's text, never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class Embeddings:
    """A vector for each text, in the order of the texts."""

    vectors: tuple[tuple[float, ...], ...]
    usage: Usage = Usage()
    heard: Heard = Heard()


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds. `first_token` and `between_tokens` are for streams.

    Signs of life without content, like keep-alive comments, do not count.
    """

    connect: float = 10.0
    first_token: float = 120.0
    between_tokens: float = 60.0
    total: float = 600.0


class NotReady(Terminal):
    """A provider can't be asked from here: its SDK or its key is not there."""


class CallRefused(StagepostError):
    """There is no answer that can be used; `refusal` says why.

    `answer` is what came all the same, None if nothing did: it may be paid for.
    """

    def __init__(
        self,
        refusal: Refusal,
        heard: Heard = Heard(),
        answer: Answer | None = None,
    ) -> None:
        super().__init__(refusal, heard, answer)
        self.refusal = refusal
        self.heard = heard
        self.answer = answer

    def __str__(self) -> str:
        """The kind, and what the provider said."""
        said = self.refusal.message or "the provider said nothing"
        return f"A call to a model has failed ({self.refusal.kind}): {said}"


Hear = Callable[[Heard], None]
"""Is told what an answer's headers say as soon as they have come; never raises."""


class Provider(Protocol):
    """Asks one provider. The verbs may be called concurrently, from one event loop.

    `hear` is told of the headers before the answer's body has come, those of a refusal included. It
    is not called where no answer comes.
    """

    async def chat(
        self, request: ChatRequest, *, timeouts: Timeouts = ..., hear: Hear | None = None
    ) -> Answer:
        """Ask, and wait for the whole answer. Raises CallRefused."""
        ...

    def stream(
        self, request: ChatRequest, *, timeouts: Timeouts = ..., hear: Hear | None = None
    ) -> AsyncGenerator[Chunk | Answer, None]:
        """Ask, and give the text as it comes; the last thing is the whole answer.

        The texts of the chunks together are the answer's text. Who stops early closes it
        (`contextlib.aclosing`); the provider may charge for what it made. Raises CallRefused.
        """
        ...

    async def embed(
        self, request: EmbedRequest, *, timeouts: Timeouts = ..., hear: Hear | None = None
    ) -> Embeddings:
        """Ask for vectors. Raises CallRefused; kind CONFIG where the provider has none."""
        ...

    async def close(self) -> None:
        """Let go of all connections; calls in flight fail."""
        ...
