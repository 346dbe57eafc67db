"""Spans as a tracer provider of OpenTelemetry would get them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import Any

from opentelemetry import trace
from opentelemetry.trace import Span, SpanContext, SpanKind, StatusCode, TraceFlags


class Recorded(Span):
    """What was told of one span."""

    def __init__(self, name: str, parent: SpanContext, number: int, **told: Any) -> None:
        self.name = name
        self.parent = parent
        self.kind: SpanKind = told["kind"]
        self.attributes: dict[str, Any] = dict(told["attributes"] or {})
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.status = StatusCode.UNSET
        self.ends = 0
        self._context = SpanContext(
            parent.trace_id if parent.is_valid else number,
            number,
            is_remote=False,
            trace_flags=TraceFlags(TraceFlags.SAMPLED),
        )

    def end(self, end_time: int | None = None) -> None:
        self.ends += 1

    def get_span_context(self) -> SpanContext:
        return self._context

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        self.attributes.update(attributes)

    def set_attribute(self, key: str, value: Any) -> None:
        self.attributes[key] = value

    def add_event(self, name: str, attributes: Any = None, timestamp: int | None = None) -> None:
        self.events.append((name, dict(attributes or {})))

    def update_name(self, name: str) -> None:
        self.name = name

    def is_recording(self) -> bool:
        return not self.ends

    def set_status(self, status: Any, description: str | None = None) -> None:
        assert description is None
        self.status = status

    def record_exception(self, *_: Any, **__: Any) -> None:
        raise AssertionError("an exception may tell what was said")


class Recorder(trace.Tracer):
    """Keeps every span that was begun."""

    def __init__(self) -> None:
        self.spans: list[Recorded] = []
        self._numbers = count(1)

    def start_span(self, name: str, context: Any = None, *args: Any, **told: Any) -> Recorded:
        given = dict(zip(("kind", "attributes"), args, strict=False)) | told
        parent = trace.get_current_span(context).get_span_context()
        span = Recorded(name, parent, next(self._numbers), **given)
        self.spans.append(span)
        return span

    @contextmanager
    def start_as_current_span(self, *args: Any, **told: Any) -> Iterator[Span]:  # type: ignore[override]
        with trace.use_span(self.start_span(*args, **told), end_on_exit=True) as span:
            yield span

    @property
    def operations(self) -> list[Recorded]:
        return [span for span in self.spans if span.kind is SpanKind.INTERNAL]

    @property
    def attempts(self) -> list[Recorded]:
        return [span for span in self.spans if span.kind is SpanKind.CLIENT]
