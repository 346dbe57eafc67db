"""Traces of calls, by OpenTelemetry's conventions for generative AI.

An *operation* is one call of a handler, from when it is first asked for until it has its answer;
its children are the *attempts*, one for each request that is sent. Both tell the model, what it
used and how it ended (`error.type` is a failure kind), and neither what was said. They belong to
the task's trace: its own span, which nobody records, has the last 16 digits of the task's id.

Where the process has no tracer provider of OpenTelemetry's SDK all of this does nothing.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import Final
from urllib.parse import urlsplit

from opentelemetry.context import Context
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    Tracer,
    get_tracer,
    set_span_in_context,
    use_span,
)

from stagepost.errors import CallFailed
from stagepost.llm.catalogue import Model
from stagepost.llm.dialect import Dialect
from stagepost.llm.provider import Answer, CallRefused, ChatRequest, Embeddings, EmbedRequest

Value = str | int | float | list[str]
Attributes = Mapping[str, Value]
Request = ChatRequest | EmbedRequest

_PROVIDERS: Final = {
    Dialect.OPENAI: "openai",
    Dialect.AZURE: "azure.ai.openai",
    Dialect.ANTHROPIC: "anthropic",
    Dialect.GEMINI: "gcp.gemini",
    Dialect.DASHSCOPE: "dashscope",
    Dialect.DEEPSEEK: "deepseek",
}
"""As the conventions name them; another one is known by its name in models.toml."""

_PORTS: Final = {"http": 80, "https": 443}


class Operation:
    """One call of a handler, which may be asked for more than once."""

    def __init__(self, tracer: Tracer, span: Span, request: Request) -> None:
        self._tracer = tracer
        self._span = span
        self._request = request

    @contextmanager
    def attempt(self, model: Model, call_id: str) -> Iterator["Attempt"]:
        """While this lasts a request is on its way."""
        about = {
            **_about(self._request),
            **_of(model),
            "gen_ai.request.model": model.asked_as,
            "stagepost.call.id": call_id,
        }
        span = self._tracer.start_span(
            f"{_name(self._request)} {model.asked_as}",
            set_span_in_context(self._span, Context()),
            SpanKind.CLIENT,
            about,
        )
        # What it raises may tell what was said: only its kind is kept.
        with use_span(
            span, end_on_exit=True, record_exception=False, set_status_on_exception=False
        ):
            try:
                yield Attempt(span)
            except CallRefused as error:
                if error.answer is not None:
                    span.set_attributes(_answered(error.answer))
                _fail(span, error.refusal.kind.value)
                raise
            except BaseException as error:
                _fail(span, type(error).__name__)
                raise

    def waits(self, why: str, seconds: float) -> None:
        """It can't be sent for so long."""
        about: Attributes = {"stagepost.wait.for": why, "stagepost.wait.seconds": seconds}
        self._span.add_event("stagepost.wait", about)

    def answered(self, model: str, answer: Answer | Embeddings) -> None:
        """It has its answer."""
        self._span.set_attributes({**_answered(answer), "stagepost.call.model": model})
        self._span.end()

    def failed(self, error: CallFailed) -> None:
        """It has none, and gets none."""
        _fail(self._span, str(error.kind))
        self._span.end()

    def let_go(self) -> None:
        """Whoever has asked is gone; another claim may ask anew."""
        self._span.end()


class Attempt:
    """One request on its way."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def answered(self, answer: Answer | Embeddings, first_token: int | None) -> None:
        """An answer has come; its first piece after so many milliseconds, if it came in pieces."""
        self._span.set_attributes(_answered(answer))
        if first_token is not None:
            self._span.set_attribute("gen_ai.response.time_to_first_chunk", first_token / 1_000)


class Spans:
    """Begins operations."""

    def __init__(self) -> None:
        self._tracer = get_tracer("stagepost", version("stagepost"))

    def operation(
        self, task_id: str, trace_id: str, about: Attributes, request: Request, model: Model
    ) -> Operation:
        """A handler asks; `model` is the first of those that may be sent to."""
        span = self._tracer.start_span(
            f"{_name(request)} {request.model}",
            _task_of(task_id, trace_id),
            SpanKind.INTERNAL,
            {
                **_about(request),
                "gen_ai.provider.name": _provider(model),
                "gen_ai.request.model": request.model,
                "stagepost.task.id": task_id,
                **about,
            },
        )
        return Operation(self._tracer, span, request)


def _task_of(task_id: str, trace_id: str) -> Context:
    """The context of a task's own span; an empty one where it has no trace."""
    try:
        span_id = int(task_id.replace("-", "")[-16:], 16)
        parent = SpanContext(
            int(trace_id, 16), span_id, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED)
        )
    except ValueError:
        return Context()
    return (
        set_span_in_context(NonRecordingSpan(parent), Context()) if parent.is_valid else Context()
    )


def _name(request: Request) -> str:
    return "chat" if isinstance(request, ChatRequest) else "embeddings"


def _about(request: Request) -> dict[str, Value]:
    found: dict[str, Value] = {"gen_ai.operation.name": _name(request)}
    if isinstance(request, ChatRequest):
        found["gen_ai.request.max_tokens"] = request.max_output_tokens
        found["gen_ai.output.type"] = "text" if request.form is None else "json"
        if request.sampling.temperature is not None:
            found["gen_ai.request.temperature"] = request.sampling.temperature
    return found


def _of(model: Model) -> dict[str, Value]:
    found: dict[str, Value] = {"gen_ai.provider.name": _provider(model)}
    address = urlsplit(model.provider.base_url or "")
    if address.hostname:
        found["server.address"] = address.hostname
        found["server.port"] = address.port or _PORTS.get(address.scheme, 443)
    return found


def _provider(model: Model) -> str:
    return _PROVIDERS.get(model.provider.speaks, model.name.partition("/")[0])


def _answered(answer: Answer | Embeddings) -> dict[str, Value]:
    usage = answer.usage
    told: dict[str, str | int | None] = {
        "gen_ai.response.model": answer.heard.model or None,
        "gen_ai.usage.input_tokens": usage.input,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_input,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning,
    }
    found: dict[str, Value] = {name: value for name, value in told.items() if value is not None}
    if isinstance(answer, Answer):
        found["gen_ai.response.finish_reasons"] = [answer.finish.value]
    return found


def _fail(span: Span, kind: str) -> None:
    span.set_attribute("error.type", kind)
    span.set_status(StatusCode.ERROR)
