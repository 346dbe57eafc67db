"""Each fault, as a client meets it and as the ledger has it."""

import asyncio
import json
from collections import Counter
from datetime import UTC, datetime
from random import Random
from typing import Any

import httpx
import pytest

from simulated.asking import CHAT, Asking, asking, chat_body
from stagepost.failure import FailureKind
from stagepost.llm.dialect import Dialect
from stagepost.llm.refusal import refusal_in_answer, refusal_of
from stagepost.llm.said import Said
from stagepost.simulated import Lending, Step, Timing
from stagepost.simulated.faults import FAULTS, Way, drawn, rate_of
from stagepost.simulated.provider import SimulatedProvider
from support.waiting import until

K = FailureKind
D = Dialect
MEANS = {
    "429": (D.OPENAI, K.RATE_LIMIT),
    "429-bare": (D.OPENAI, K.RATE_LIMIT),
    "500": (D.OPENAI, K.SERVER_ERROR),
    "502": (D.OPENAI, K.SERVER_ERROR),
    "503": (D.OPENAI, K.OVERLOADED),
    "529": (D.OPENAI, K.OVERLOADED),
    "401": (D.OPENAI, K.AUTH),
    "404": (D.OPENAI, K.CONFIG),
    "content-filter": (D.OPENAI, K.CONTENT_POLICY),
    "context-length": (D.OPENAI, K.CONTEXT_LENGTH),
    "quota-openai": (D.OPENAI, K.QUOTA),
    "quota-anthropic": (D.ANTHROPIC, K.QUOTA),
    "credit-anthropic": (D.ANTHROPIC, K.QUOTA),
    "quota-dashscope": (D.DASHSCOPE, K.QUOTA),
    "rate-dashscope": (D.DASHSCOPE, K.RATE_LIMIT),
    "quota-deepseek": (D.DEEPSEEK, K.QUOTA),
    "quota-gemini": (D.GEMINI, K.QUOTA),
    "rate-gemini": (D.GEMINI, K.RATE_LIMIT),
}


def body_of(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except json.JSONDecodeError:
        return answer.text


def test_each_that_refuses_is_tried() -> None:
    assert set(MEANS) == {name for name, fault in FAULTS.items() if fault.way is Way.DENIED}


@pytest.mark.parametrize("name", MEANS)
async def test_a_refusal_means_what_it_should_and_costs_nothing(name: str) -> None:
    dialect, kind = MEANS[name]
    path = "/v1/messages" if dialect is D.ANTHROPIC else CHAT
    async with asking(script=[Step(fault=name)]) as sim:
        answer = await sim.client.post(path, json=chat_body(max_tokens=9))
        after = await sim.client.post(path, json=chat_body(max_tokens=9))
        said = Said(answer.status_code, dict(answer.headers), body_of(answer))
        assert refusal_of(said, dialect, datetime.now(UTC)).kind is kind
        assert after.status_code == 200
        ledger = sim.provider.ledger
        assert (ledger.billed, ledger.faults) == (1, {name: 1})
        assert ledger.refused == {f"{answer.status_code} {name}": 1}
        assert ledger.open == ledger.flying == 0


async def test_a_bare_429_has_no_header_that_tells() -> None:
    steps = [Step(fault="429-bare"), Step(fault="429", wait=7)]
    async with asking(script=steps, lending=Lending(requests=9)) as sim:
        bare, told = await sim.chat(), await sim.chat()
    assert not [name for name in bare.headers if name.startswith(("x-ratelimit", "retry"))]
    assert told.headers["x-ratelimit-limit-requests"] == "9"
    assert (told.headers["retry-after"], told.headers["retry-after-ms"]) == ("7", "7000")


@pytest.mark.parametrize(
    ("form", "speed", "headers"),
    [
        (None, 1, {"retry-after": "3", "retry-after-ms": "3000"}),
        (None, 10, {"retry-after-ms": "300"}),
        ("seconds", 1, {"retry-after": "3"}),
        ("ms", 1, {"retry-after-ms": "3000"}),
        ("none", 1, {}),
    ],
)
async def test_a_wait_is_told_in_each_form(form: Any, speed: float, headers: Any) -> None:
    step = Step(fault="429", wait=3)
    async with asking(script=[step], retry_after=form, speed=speed) as sim:
        answer = await sim.chat()
    assert {name: v for name, v in answer.headers.items() if "retry" in name} == headers


async def test_a_wait_may_be_told_as_a_date() -> None:
    async with asking(script=[Step(fault="429", wait=90)], retry_after="date") as sim:
        answer = await sim.chat()
    said = Said(429, dict(answer.headers), "")
    wait = refusal_of(said, D.OPENAI, datetime.now(UTC)).retry_after
    assert wait is not None
    assert 60 < wait <= 91


async def streamed(sim: Asking) -> str:
    """What comes of a stream until it ends or breaks, and how it breaks."""
    text = ""
    request = sim.client.stream("POST", CHAT, json=chat_body(stream=True))
    try:
        async with request as answer:
            async for piece in answer.aiter_text():
                text += piece
    except httpx.TransportError as error:
        return f"{text}!{type(error).__name__}"
    return text


@pytest.mark.parametrize("stream", [False, True])
async def test_a_reset_before_is_not_billed(*, stream: bool) -> None:
    async with asking(script=[Step(fault="reset-before")]) as sim:
        with pytest.raises(httpx.TransportError):
            await sim.chat(stream=stream)
        assert sim.provider.ledger.billed == 0
        assert sim.provider.ledger.refused == {"no answer reset-before": 1}
        assert (await sim.chat()).status_code == 200


@pytest.mark.parametrize("stream", [False, True])
async def test_a_reset_after_is_billed_in_full(*, stream: bool) -> None:
    async with asking(script=[Step(fault="reset-after")]) as sim:
        with pytest.raises(httpx.TransportError):
            await sim.chat(stream=stream)
        [record] = sim.provider.ledger.calls(0, 9)
        whole = await sim.chat()
        assert record.state == "billed"
        assert record.why == "reset-after"
        assert record.delivered is False
        assert record.output_tokens == whole.json()["usage"]["completion_tokens"]
        assert sim.provider.ledger.by_content.excess == 1, "the same content was paid for twice"


async def test_a_stream_that_is_cut_is_billed_as_far_as_it_came() -> None:
    async with asking(script=[Step(fault="cut")]) as sim:
        text = await streamed(sim)
        assert text.endswith("!RemoteProtocolError")
        assert "[DONE]" not in text
        sent = text.count('"content":"') - 1
        [record] = sim.provider.ledger.calls(0, 9)
        assert record.output_tokens == sent > 0
        assert sim.provider.ledger.flying == 0


async def test_an_answer_that_is_cut_is_no_json() -> None:
    async with asking(script=[Step(fault="cut")]) as sim:
        with pytest.raises(httpx.RemoteProtocolError):
            await sim.chat()
        assert sim.provider.ledger.billed == 1


async def test_an_end_without_a_finish_reason() -> None:
    async with asking(script=[Step(fault="no-finish", times=2)]) as sim:
        whole = (await sim.chat()).json()
        parts = await sim.streamed()
    assert whole["choices"][0]["finish_reason"] is None
    reasons = {part["choices"][0]["finish_reason"] for part in parts}
    assert reasons == {None}
    refused = refusal_in_answer(None, None)
    assert refused is not None
    assert refused.maybe_billed


async def test_usage_that_is_not_told_is_billed() -> None:
    async with asking(script=[Step(fault="no-usage", times=2)]) as sim:
        whole = (await sim.chat()).json()
        parts = await sim.streamed(stream_options={"include_usage": True})
        assert "usage" not in whole
        assert not any("usage" in part for part in parts)
        assert sim.provider.ledger.output_tokens > 0


@pytest.mark.parametrize("stream", [False, True])
async def test_keep_alives_come_until_the_client_leaves(*, stream: bool) -> None:
    async with asking(script=[Step(fault="hang")], speed=100) as sim:
        body = chat_body(stream=stream)
        async with sim.client.stream("POST", CHAT, json=body) as answer:
            assert answer.status_code == 200
            seen = 0
            async for piece in answer.aiter_text():
                seen += piece.count(": keep-alive" if stream else "\n")
                if seen >= 5:
                    break
        await until(lambda: sim.provider.ledger.flying == 0)
        assert sim.provider.ledger.billed == 0


async def test_a_stall_is_silent_after_a_half() -> None:
    async with asking(script=[Step(fault="stall")]) as sim:
        text: list[str] = []

        async def read() -> None:
            request = sim.client.stream("POST", CHAT, json=chat_body(stream=True))
            async with request as answer:
                text.extend([piece async for piece in answer.aiter_text()])

        reading = asyncio.create_task(read())
        await until(lambda: sim.provider.ledger.billed == 1)
        [record] = sim.provider.ledger.calls(0, 9)
        assert record.output_tokens > 0
        assert record.delivered is False
        assert not reading.done(), "there is neither an end nor a cut"
        reading.cancel()
        await until(lambda: not sim.provider.calls.lines)


async def test_a_slow_first_token_is_paid_even_by_whoever_loses_patience() -> None:
    async with asking(script=[Step(fault="slow", wait=600)]) as sim:
        asked = asyncio.create_task(sim.chat())
        await until(lambda: sim.provider.ledger.flying == 1)
        assert sim.provider.ledger.billed == 0
        asked.cancel()
        await until(lambda: sim.provider.ledger.billed == 1)
        assert (await sim.chat()).status_code == 200


async def test_what_the_content_filter_ends_and_what_the_model_refuses() -> None:
    steps = [Step(fault="filtered"), Step(fault="refusal", times=2)]
    async with asking(script=steps) as sim:
        filtered, refused = (await sim.chat()).json(), (await sim.chat()).json()
        parts = await sim.streamed()
    choice = filtered["choices"][0]
    found = refusal_in_answer(choice["finish_reason"], choice["message"]["refusal"])
    assert found is not None
    assert found.kind is K.CONTENT_POLICY
    message = refused["choices"][0]["message"]
    assert message["content"] is None
    assert message["refusal"]
    assert [part for part in parts if part["choices"][0]["delta"].get("refusal")]


async def test_a_bad_answer_fits_no_schema() -> None:
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}
    async with asking(script=[Step(fault="bad-answer")]) as sim:
        answer = (await sim.chat(response_format=form)).json()
    with pytest.raises(json.JSONDecodeError):
        json.loads(answer["choices"][0]["message"]["content"])


async def test_a_client_that_leaves_a_stream_pays_for_what_it_had() -> None:
    async with asking(timing=Timing(token=0.02, sigma=0), length=5_000) as sim:
        request = sim.client.stream("POST", CHAT, json=chat_body(stream=True))
        async with request as answer:
            async for _ in answer.aiter_bytes():
                break
        await until(lambda: sim.provider.ledger.flying == 0)
        [record] = sim.provider.ledger.calls(0, 9)
        assert record.state == "billed"
        assert record.delivered is False
        assert record.output_tokens < 2_000


async def test_rates_hit_about_so_many_and_the_same_ones_again() -> None:
    rates = {"500": 0.3, "429": 0.2}
    seen = []
    for _ in range(2):
        async with asking(faults=rates, seed=7) as sim:
            seen.append([(await sim.chat()).status_code for _ in range(60)])
    assert seen[0] == seen[1]
    counts = Counter(seen[0])
    assert 8 <= counts[500] <= 30
    assert 4 <= counts[429] <= 22


def test_rates_are_read_and_checked() -> None:
    assert rate_of("429=0.02") == ("429", 0.02)
    for wrong in ("429", "429=", "429=2", "429=nan", "bad=0.1"):
        with pytest.raises(ValueError, match=r"429|bad"):
            rate_of(wrong)
    for rates in ({"429": 0.6, "500": 0.6}, {"429": -0.1}, {"bad": 0.1}):
        with pytest.raises(ValueError, match=r"rate|fault"):
            SimulatedProvider(faults=rates)

    assert drawn({}, Random(0)) is None
