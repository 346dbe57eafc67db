"""Traces of calls to models: an operation, an attempt for each request, nothing of what is said."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from opentelemetry.trace import StatusCode

from engine_kit.engine import ALL, reached
from engine_kit.models import asking, ended
from stagepost.llm.catalogue import Catalogue
from stagepost.llm.provider import ChatRequest, Message, Role
from stagepost.llm.spans import Spans
from stagepost.simulated import Step
from stagepost.task import Status, Task
from support.spans import Recorded, Recorder

SECRET = "Nobody may read this."


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    found = Recorder()
    monkeypatch.setattr("stagepost.llm.spans.get_tracer", lambda *_: found)
    return found


def checked(recorder: Recorder, task: Task) -> tuple[list[Recorded], list[Recorded]]:
    """The operations and attempts; all of them of the task, ended once, without what was said."""
    told = repr([(each.name, each.attributes, each.events) for each in recorder.spans])
    assert SECRET not in told
    known = {each.get_span_context().span_id for each in recorder.operations}
    for span in recorder.spans:
        assert span.ends == 1
        assert f"{span.parent.trace_id:032x}" == task.trace_id
    for span in recorder.operations:
        assert f"{span.parent.span_id:016x}" == task.id.replace("-", "")[-16:]
        assert span.parent.trace_flags.sampled
    assert {span.parent.span_id for span in recorder.attempts} <= known
    return recorder.operations, recorder.attempts


async def test_a_call_is_an_operation_and_an_attempt(tmp_path: Path, recorder: Recorder) -> None:
    async with asking(tmp_path) as (engine, simulation):
        task = await ended(engine, "ask", SECRET)
        (call,) = await engine.store.calls.find(task.id, ALL, None, 10)
    (operation,), (attempt,) = checked(recorder, task)
    assert (operation.name, attempt.name) == ("chat best", "chat sim-large")
    both = {
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "main",
        "gen_ai.request.max_tokens": 2_000, "gen_ai.request.temperature": 0.5,
        "gen_ai.output.type": "text", "gen_ai.response.model": "sim-large",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": call.usage.input,
        "gen_ai.usage.output_tokens": call.usage.output,
    }  # fmt: skip
    assert told(operation) == both | {
        "gen_ai.request.model": "best", "stagepost.task.id": task.id, "stagepost.task.type": "ask",
        "stagepost.step": "read", "stagepost.call.model": "main/sim-large",
    }  # fmt: skip
    assert told(attempt) == both | {
        "gen_ai.request.model": "sim-large", "stagepost.call.id": call.id,
        "server.address": "127.0.0.1", "server.port": urlsplit(simulation.base_url).port,
    }  # fmt: skip
    assert operation.status is attempt.status is StatusCode.UNSET


def told(span: Recorded) -> dict[str, Any]:
    """Its attributes, without the counts that not every provider tells."""
    more = ("gen_ai.usage.cache_read.", "gen_ai.usage.reasoning.")
    return {name: value for name, value in span.attributes.items() if not name.startswith(more)}


async def test_each_request_that_is_sent_is_an_attempt(tmp_path: Path, recorder: Recorder) -> None:
    async with asking(tmp_path, Step(fault="429", wait=1), speed=10) as (engine, _):
        task = await ended(engine, "ask", SECRET)
    (operation,), (refused, answered) = checked(recorder, task)
    assert (refused.attributes["error.type"], refused.status) == ("RATE_LIMIT", StatusCode.ERROR)
    assert answered.status is operation.status is StatusCode.UNSET
    assert "error.type" not in operation.attributes


async def test_an_answer_that_does_not_fit_is_asked_for_by_another_operation(
    tmp_path: Path, recorder: Recorder
) -> None:
    bad, good = Step(answer={"risk": SECRET}), Step(answer={"risk": "high", "pages": 3})
    async with asking(tmp_path, bad, good) as (engine, _):
        task = await ended(engine, "judge", SECRET)
    operations, attempts = checked(recorder, task)
    assert [span.attributes["gen_ai.output.type"] for span in operations + attempts] == ["json"] * 4


async def test_one_that_fails_says_by_what(tmp_path: Path, recorder: Recorder) -> None:
    async with asking(tmp_path, Step(fault="content-filter", times=9)) as (engine, _):
        task = await ended(engine, "ask", SECRET)
    assert task.status is Status.DEAD_LETTER
    (operation,), (attempt,) = checked(recorder, task)
    for span in (operation, attempt):
        assert span.status is StatusCode.ERROR
        assert span.attributes["error.type"] == task.failure_kind


async def test_one_that_waits_without_a_worker_ends_with_its_claim(
    tmp_path: Path, recorder: Recorder
) -> None:
    async with asking(tmp_path, Step(fault="401", times=99)) as (engine, _):
        sent = await engine.client.submit("ask", SECRET)
        task = await reached(engine, sent.task_id, Status.WAITING)
    (operation, *_), (attempt, *_) = checked(recorder, task)
    assert attempt.attributes["error.type"] == "AUTH"
    assert operation.status is StatusCode.UNSET
    name, about = operation.events[0]
    assert (name, about["stagepost.wait.for"]) == ("stagepost.wait", "main/sim-large (AUTH)")
    assert about["stagepost.wait.seconds"] > 0


async def test_what_is_streamed_tells_its_first_piece(tmp_path: Path, recorder: Recorder) -> None:
    async with asking(tmp_path) as (engine, _):
        task = await ended(engine, "tell", SECRET)
    (operation,), (attempt,) = checked(recorder, task)
    assert attempt.attributes["gen_ai.response.time_to_first_chunk"] >= 0
    assert operation.name == "chat main/sim-small"


async def test_embeddings_have_their_own_name(tmp_path: Path, recorder: Recorder) -> None:
    async with asking(tmp_path) as (engine, _):
        task = await ended(engine, "embed", SECRET)
    (operation,), (attempt,) = checked(recorder, task)
    assert (operation.name, attempt.name) == ("embeddings small", "embeddings sim-embedding")
    assert attempt.attributes["gen_ai.operation.name"] == "embeddings"


@pytest.mark.parametrize("trace_id", ["", "x", "0" * 32, "f" * 40])
def test_a_task_without_a_trace_begins_one(recorder: Recorder, trace_id: str) -> None:
    models = Catalogue.parse('[providers.main]\nkind = "anthropic"\n')
    request = ChatRequest("main/large", (Message(Role.USER, SECRET),))
    task_id = "00000000-0000-7000-8000-000000000001"
    found = Spans().operation(task_id, trace_id, {}, request, models.model("main/large"))
    found.let_go()
    (span,) = recorder.operations
    assert not span.parent.is_valid
    assert (span.ends, span.attributes["gen_ai.provider.name"]) == (1, "anthropic")


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ('kind = "openai"', "openai"),
        ('kind = "openai"\nbase_url = "https://a.openai.azure.com/openai/v1"', "azure.ai.openai"),
        ('kind = "openai"\ndialect = "gemini"', "gcp.gemini"),
        ('kind = "openai"\nbase_url = "http://127.0.0.1:9/v1"', "own"),
    ],
)
def test_providers_have_the_names_of_the_conventions(
    recorder: Recorder, table: str, name: str
) -> None:
    model = Catalogue.parse(f"[providers.own]\n{table}\n").model("own/large")
    request: Any = ChatRequest("own/large", (Message(Role.USER, SECRET),))
    operation = Spans().operation("0", "", {}, request, model)
    with operation.attempt(model, "id"):
        pass
    assert {each.attributes["gen_ai.provider.name"] for each in recorder.spans} == {name}
