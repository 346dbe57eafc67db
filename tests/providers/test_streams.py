"""Streams as they come, and in each way in which they end badly. Every server is a real one."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from stagepost.failure import FailureKind as Kind
from stagepost.llm.dialect import Dialect
from stagepost.llm.provider import Chunk, Finish, Timeouts
from stagepost.providers import watch
from support.asking import HELLO, PATIENT, asked_at, refused_by, streamed
from support.given_answers import GIVEN
from support.scripted_provider import (
    Reply,
    data,
    events,
    hang_up,
    reset,
    scripted,
    silent,
    whole,
)

DIALECTS = [Dialect.OPENAI, Dialect.ANTHROPIC]
SHORT = 0.3  # seconds
QUICK = Timeouts(connect=5.0, first_token=SHORT, between_tokens=SHORT, total=20.0)


def openai(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    chunk = {"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "m-1-0613"}
    return data({**chunk, "choices": [choice], **more})


def anthropic(type_: str, **more: Any) -> bytes:
    return data({"type": type_, **more}, type_)


def anthropic_text(text: str) -> bytes:
    delta = {"type": "text_delta", "text": text}
    return anthropic("content_block_delta", index=0, delta=delta)


BEGIN = {
    Dialect.OPENAI: [openai({"role": "assistant", "content": ""})],
    Dialect.ANTHROPIC: [
        anthropic(
            "message_start",
            message={
                "id": "msg_1", "type": "message", "role": "assistant", "model": "m-1-0613",
                "content": [], "stop_reason": None, "stop_sequence": None,
                "usage": {"input_tokens": 25, "cache_read_input_tokens": 5, "output_tokens": 1},
            },
        ),
        anthropic("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        anthropic("ping"),
    ],
}  # fmt: skip
HEL = {Dialect.OPENAI: openai({"content": "Hel"}), Dialect.ANTHROPIC: anthropic_text("Hel")}
LO = {Dialect.OPENAI: openai({"content": "lo."}), Dialect.ANTHROPIC: anthropic_text("lo.")}
FINISH = {
    Dialect.OPENAI: [openai({}, "stop")],
    Dialect.ANTHROPIC: [
        anthropic("content_block_stop", index=0),
        anthropic(
            "message_delta",
            delta={"stop_reason": "end_turn", "stop_sequence": None},
            usage={"output_tokens": 15, "output_tokens_details": {"thinking_tokens": 4}},
        ),
    ],
}
USAGE = {
    "prompt_tokens": 30, "completion_tokens": 15, "total_tokens": 45,
    "prompt_tokens_details": {"cached_tokens": 5},
    "completion_tokens_details": {"reasoning_tokens": 4},
}  # fmt: skip
END = {
    Dialect.OPENAI: [data({"id": "c-1", "choices": [], "usage": USAGE}), data("[DONE]")],
    Dialect.ANTHROPIC: [anthropic("message_stop")],
}
ALIVE = {Dialect.OPENAI: b": keep-alive\n\n", Dialect.ANTHROPIC: anthropic("ping")}


def said(dialect: Dialect) -> list[bytes]:
    return [*BEGIN[dialect], HEL[dialect], ALIVE[dialect], LO[dialect]]


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_tokens_come_as_they_are_sent_and_then_the_answer(dialect: Dialect) -> None:
    parts = [*said(dialect), *FINISH[dialect], *END[dialect]]
    headers = {"x-request-id": "req-1", "x-ratelimit-remaining-tokens": "39"}
    async with (
        scripted(events(*parts, headers=headers)) as server,
        asked_at(server.address, dialect) as asked,
    ):
        texts, answer = await streamed(asked)
    assert texts == ["Hel", "lo."]
    assert answer.finish is Finish.STOP
    usage = answer.usage
    assert (usage.input, usage.cached_input, usage.output, usage.reasoning) == (30, 5, 15, 4)
    assert (answer.heard.model, answer.heard.request_id) == ("m-1-0613", "req-1")
    assert answer.heard.limits == {"x-ratelimit-remaining-tokens": "39"}
    assert server.asked[0].body["stream"] is True
    assert len(server.asked) == 1


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_token_is_seen_before_the_next_is_made(dialect: Dialect) -> None:
    parts = [*BEGIN[dialect], HEL[dialect]]
    async with (
        scripted(events(*parts, end="hang")) as server,
        asked_at(server.address, dialect) as asked,
        aclosing(asked.stream(HELLO)) as pieces,
    ):
        assert await anext(pieces) == Chunk("Hel")
        assert not server.left.is_set()


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_who_stops_early_hangs_up(dialect: Dialect) -> None:
    async with (
        scripted(events(*BEGIN[dialect], HEL[dialect], end="hang")) as server,
        asked_at(server.address, dialect) as asked,
    ):
        async with aclosing(asked.stream(HELLO)) as pieces:
            await anext(pieces)
        async with asyncio.timeout(10):
            await server.left.wait()


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("end", ["whole", "cut", "reset", "hang", "endless"])
async def test_a_stream_without_a_finish_reason_is_none(dialect: Dialect, end: str) -> None:
    parts = [*said(dialect), ALIVE[dialect]]
    async with (
        scripted(events(*parts, end=end, every=0.05)) as server,
        asked_at(server.address, dialect) as asked,
    ):
        refused = await refused_by(asked, "stream", timeouts=QUICK)
    assert refused.refusal.kind is Kind.TIMEOUT
    assert refused.refusal.maybe_billed
    assert refused.answer is not None
    assert (refused.answer.text, refused.answer.finish) == ("Hello.", Finish.MISSING)
    if dialect is Dialect.ANTHROPIC:
        assert refused.answer.usage.input == 30, "what is known of its cost is kept"
    if end in {"hang", "endless"}:
        assert "No further token within 0.3 s" in str(refused)
    assert len(server.asked) == 1


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("begin", [{}, BEGIN], ids=["nothing", "a beginning"])
async def test_endless_keep_alives_are_no_first_token(
    dialect: Dialect, begin: dict[Dialect, list[bytes]]
) -> None:
    parts = [*begin.get(dialect, []), ALIVE[dialect]]
    async with (
        scripted(events(*parts, end="endless", every=0.05)) as server,
        asked_at(server.address, dialect) as asked,
    ):
        refused = await refused_by(asked, "stream", timeouts=QUICK)
    assert (refused.refusal.kind, refused.refusal.maybe_billed) == (Kind.TIMEOUT, True)
    assert "No first token within 0.3 s" in str(refused)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_empty_chunks_are_no_tokens_either(dialect: Dialect) -> None:
    empty = openai({"content": ""}) if dialect is Dialect.OPENAI else anthropic_text("")
    async with (
        scripted(events(*said(dialect), empty, end="endless", every=0.05)) as server,
        asked_at(server.address, dialect) as asked,
    ):
        refused = await refused_by(asked, "stream", timeouts=QUICK)
    assert "No further token within 0.3 s" in str(refused)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_tokens_without_end_end_in_time(dialect: Dialect) -> None:
    timeouts = Timeouts(total=1.0)
    async with (
        scripted(events(*BEGIN[dialect], HEL[dialect], end="endless", every=0.05)) as server,
        asked_at(server.address, dialect) as asked,
    ):
        refused = await refused_by(asked, "stream", timeouts=timeouts)
    assert (refused.refusal.kind, refused.refusal.maybe_billed) == (Kind.TIMEOUT, True)
    assert "No whole answer within 1 s" in str(refused)
    assert refused.answer is not None
    assert refused.answer.text.startswith("HelHel")


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_first_token_may_be_slow_and_the_others_too(dialect: Dialect) -> None:
    # Each pause is shorter than its time-out, and all of them together are longer than any.
    begin, finish = BEGIN[dialect], [*FINISH[dialect], *END[dialect]]
    parts: list[bytes | float] = [*begin, 0.4, HEL[dialect], 0.4, LO[dialect], 0.4, *finish]
    timeouts = Timeouts(first_token=1.0, between_tokens=1.0)
    async with (
        scripted(events(*parts)) as server,
        asked_at(server.address, dialect) as asked,
    ):
        texts, _ = await streamed(asked, timeouts=timeouts)
    assert texts == ["Hel", "lo."]


async def test_reasoning_is_a_sign_of_life_and_no_text() -> None:
    thoughts: list[bytes | float] = [
        openai({"reasoning_content": "Hm."}),
        0.5,
        openai({"reasoning": "So."}),
        0.5,
    ]
    parts = [*thoughts, HEL[Dialect.OPENAI], *FINISH[Dialect.OPENAI]]
    async with (
        scripted(events(*parts)) as server,
        asked_at(server.address, Dialect.DEEPSEEK) as asked,
    ):
        texts, answer = await streamed(asked, timeouts=Timeouts(first_token=0.8))
    assert texts == ["Hel"]
    assert answer.usage.input is None, "it told none"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("end", ["cut", "reset"])
async def test_what_breaks_behind_the_finish_reason_breaks_nothing(
    dialect: Dialect, end: str
) -> None:
    parts = [*said(dialect), *FINISH[dialect]]
    async with (
        scripted(events(*parts, end=end)) as server,
        asked_at(server.address, dialect) as asked,
    ):
        _, answer = await streamed(asked)
    assert (answer.text, answer.finish) == ("Hello.", Finish.STOP)
    assert (answer.usage.input is None) is (dialect is Dialect.OPENAI)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_who_says_nothing_behind_the_finish_reason_is_not_waited_for_long(
    dialect: Dialect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_AFTER_THE_END", SHORT)
    parts = [*said(dialect), *FINISH[dialect]]
    async with (
        scripted(events(*parts, end="hang")) as server,
        asked_at(server.address, dialect) as asked,
        asyncio.timeout(20),
    ):
        _, answer = await streamed(asked)
    assert answer.text == "Hello."


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_an_error_in_the_middle_of_a_stream_ends_it(dialect: Dialect) -> None:
    error = {"type": "overloaded_error", "message": "Overloaded"}
    told = {"type": "error", "error": error}
    parts = [*said(dialect), data(told, "error" if dialect is Dialect.ANTHROPIC else "")]
    async with (
        scripted(events(*parts, *FINISH[dialect])) as server,
        asked_at(server.address, dialect) as asked,
    ):
        refused = await refused_by(asked, "stream")
    assert (refused.refusal.kind, refused.refusal.maybe_billed) == (Kind.OVERLOADED, True)
    assert refused.answer is not None
    assert refused.answer.text == "Hello."


@pytest.mark.parametrize("part", [b"data: {\n\n", b"data: \xff\xfe\n\n", b"data: [1]\n\n"])
async def test_what_is_no_event_ends_a_stream(part: bytes) -> None:
    async with (
        scripted(events(*said(Dialect.OPENAI), part)) as server,
        asked_at(server.address, Dialect.OPENAI) as asked,
    ):
        refused = await refused_by(asked, "stream")
    assert refused.refusal.kind in {Kind.TIMEOUT, Kind.SERVER_ERROR}
    assert refused.refusal.maybe_billed


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("verb", ["chat", "stream"])
@pytest.mark.parametrize("reply", [reset, hang_up])
async def test_a_connection_that_breaks_before_the_first_byte(
    dialect: Dialect, verb: str, reply: Reply
) -> None:
    async with scripted(reply) as server, asked_at(server.address, dialect) as asked:
        refused = await refused_by(asked, verb)
    assert (refused.refusal.kind, refused.refusal.maybe_billed) == (Kind.SERVER_ERROR, True)
    assert len(server.asked) == 1


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("verb", ["chat", "stream"])
async def test_silence_ends(dialect: Dialect, verb: str) -> None:
    timeouts = Timeouts(first_token=SHORT, total=SHORT if verb == "chat" else 20.0)
    async with scripted(silent) as server, asked_at(server.address, dialect) as asked:
        refused = await refused_by(asked, verb, timeouts=timeouts)
        async with asyncio.timeout(10):
            await server.left.wait()
    assert (refused.refusal.kind, refused.refusal.maybe_billed) == (Kind.TIMEOUT, True)
    assert len(server.asked) == 1


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_caller_that_is_cancelled_stays_cancelled(dialect: Dialect) -> None:
    async with scripted(silent) as server, asked_at(server.address, dialect) as asked:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(SHORT):
                await asked.chat(HELLO, timeouts=PATIENT)
        async with asyncio.timeout(10):
            await server.left.wait()


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_content_filter_may_end_a_stream(dialect: Dialect) -> None:
    end = (
        openai({}, "content_filter")
        if dialect is Dialect.OPENAI
        else anthropic("message_delta", delta={"stop_reason": "refusal"}, usage={})
    )
    async with (
        scripted(events(*said(dialect), end, *END[dialect])) as server,
        asked_at(server.address, dialect) as asked,
    ):
        refused = await refused_by(asked, "stream")
    assert (refused.refusal.kind, refused.refusal.maybe_billed) == (Kind.CONTENT_POLICY, True)
    assert refused.answer is not None
    assert refused.answer.finish is Finish.CONTENT_FILTER


@pytest.mark.parametrize("name", GIVEN)
async def test_a_stream_may_be_answered_with_no_stream(name: str) -> None:
    given = GIVEN[name]
    async with (
        scripted(whole(given.body)) as server,
        asked_at(server.address, given.dialect) as asked,
    ):
        _, answer = await streamed(asked)
    assert (answer.text, answer.finish, answer.tool_calls) == (
        given.text, given.finish, given.calls
    )  # fmt: skip
    assert answer.usage == given.usage


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_an_error_may_come_instead_of_a_stream_with_a_status_of_200(
    dialect: Dialect,
) -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    async with (
        scripted(whole(error)) as server,
        asked_at(server.address, dialect) as asked,
    ):
        refused = await refused_by(asked, "stream")
    assert (refused.refusal.kind, refused.refusal.maybe_billed) == (Kind.OVERLOADED, True)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_what_is_neither_a_stream_nor_an_answer_is_no_answer(dialect: Dialect) -> None:
    page = "<html>Welcome to the hotel's network</html>"
    async with (
        scripted(whole(page, kind="text/html")) as server,
        asked_at(server.address, dialect) as asked,
    ):
        refused = await refused_by(asked, "stream")
    assert (refused.refusal.kind, refused.refusal.maybe_billed) == (Kind.TIMEOUT, True)
