"""What the provider lends, what it refuses then, and how well its limits were used."""

import asyncio
import socket
from collections import Counter
from typing import Any

import pytest

from simulated.asking import CHAT, Asking, asking, chat_body
from stagepost.simulated import Asked, Change, Kind, Lending, Step
from stagepost.simulated.lending import MOST_KEYS, Book, Lent
from stagepost.simulated.server import _listener
from stagepost.simulated.shares import Shares
from support.waiting import until


async def statuses(sim: Asking, calls: int, **more: Any) -> Counter[int]:
    answers = await asyncio.gather(*(sim.chat(f"call {n}", **more) for n in range(calls)))
    return Counter(answer.status_code for answer in answers)


@pytest.mark.parametrize("kind", Kind)
async def test_no_more_requests_than_are_lent(kind: Kind) -> None:
    # A window of days does not turn while the test runs.
    lending = Lending(requests=5, kind=kind)
    async with asking(lending=lending, speed=1 / 3600) as sim:
        assert await statuses(sim, 8) == {200: 5, 429: 3}
        answer = await sim.chat()
        assert answer.json()["error"]["code"] == "rate_limit_exceeded"
        assert answer.json()["error"]["type"] == "requests"
        assert "try again in" in answer.json()["error"]["message"]
        assert int(answer.headers["retry-after-ms"]) > 0
        assert answer.headers["x-ratelimit-remaining-requests"] == "0"
        assert sim.provider.ledger.refused == {"429 requests": 4}


async def test_a_minute_is_as_short_as_speed_makes_it() -> None:
    async with asking(lending=Lending(requests=1), speed=2) as sim:
        answers = [await sim.chat(), await sim.chat()]
    assert [answer.status_code for answer in answers] == [200, 429]
    assert 0 < int(answers[1].headers["retry-after-ms"]) <= 30_000


@pytest.mark.parametrize(("charge", "left"), [("reserved", 899), ("actual", 989)])
async def test_tokens_are_charged_as_it_charges(charge: Any, left: int) -> None:
    # `Hello` is 2 tokens and 4 for its message: 6 of input, 95 may be answered, 5 are.
    lending = Lending(tokens=1_000, charge=charge)
    async with asking(lending=lending, speed=1 / 3600, answer=lambda _: "x" * 20) as sim:
        answer = await sim.chat(max_tokens=95)
        assert answer.json()["usage"]["total_tokens"] == 11
        assert answer.headers["x-ratelimit-remaining-tokens"] == "899"
        await until(lambda: sim.provider.ledger.flying == 0)
        after = await sim.chat("Hello", max_tokens=1)
        assert int(after.headers["x-ratelimit-remaining-tokens"]) == left - 7
        [used] = (await sim.summary())["used"]
        lent = 101 if charge == "reserved" else 11
        # The answer of 5 tokens was cut to the one that the second call might have.
        assert used["tokens"][0]["lent"] == lent + 7


async def test_more_than_a_minute_ever_lends_is_refused_without_a_wait() -> None:
    async with asking(lending=Lending(tokens=100)) as sim:
        answer = await sim.chat(max_tokens=200)
    assert answer.status_code == 429
    assert "too large" in answer.json()["error"]["message"]
    assert "retry-after" not in answer.headers


async def test_at_once_are_only_so_many() -> None:
    may_end = asyncio.Event()

    async def held(_asked: Asked) -> str:
        await may_end.wait()
        return "at last"

    async with asking(lending=Lending(concurrency=3), answer=held) as sim:
        ledger = sim.provider.ledger
        asked = asyncio.create_task(statuses(sim, 8))
        await until(lambda: ledger.refused == {"429 concurrency": 5})
        may_end.set()
        assert await asked == {200: 3, 429: 5}
        assert (ledger.peak, ledger.flying) == (3, 0)
        assert await statuses(sim, 3) == {200: 3}


async def test_headers_may_be_left_out() -> None:
    async with asking(lending=Lending(requests=1), headers=False, retry_after="none") as sim:
        answers = [await sim.chat(), await sim.chat()]
    assert [answer.status_code for answer in answers] == [200, 429]
    for answer in answers:
        assert not [name for name in answer.headers if "ratelimit" in name or "retry" in name]


async def test_anthropics_headers_tell_instants() -> None:
    async with asking(lending=Lending(requests=60, tokens=6_000)) as sim:
        answer = await sim.client.post("/v1/messages", json=chat_body(max_tokens=94))
    head = answer.headers
    assert head["anthropic-ratelimit-requests-remaining"] == "59"
    assert head["anthropic-ratelimit-tokens-remaining"] == "5900"
    assert head["anthropic-ratelimit-tokens-reset"].endswith("+00:00")


async def test_each_model_and_each_key_has_limits_of_its_own() -> None:
    async with asking(lending=Lending(requests=1)) as sim:
        other = {"authorization": "Bearer other"}
        answers = [
            await sim.chat(),
            await sim.chat(model="sim-small"),
            await sim.client.post("/v1/chat/completions", json=chat_body(), headers=other),
            await sim.chat(),
        ]
        used = (await sim.summary())["used"]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert len(used) == 3
    assert "other" not in str(used)


async def test_limits_are_lowered_midway_by_hand_and_by_script() -> None:
    lending = Lending(requests=100)
    lower = Step(change=Change(requests=2), skip=3)
    async with asking(lending=lending, speed=1 / 3600, script=[lower]) as sim:
        answers = [await sim.chat(str(n)) for n in range(6)]
        # The fourth changes the limit to 2 before it is admitted.
        assert [answer.status_code for answer in answers] == [200, 200, 200, 200, 200, 429]
        sim.provider.change(Change(model="sim-small", requests=1))
        small = [(await sim.chat(model="sim-small")).status_code for _ in range(2)]
        assert small == [200, 429]
        assert (await sim.summary())["limits"]["requests"] == 2


def opened(book: Book, now: float) -> Lent:
    lent = book.of("a", "", now)
    assert lent is not None
    return lent


async def test_keys_are_bounded_and_strangers_take_none() -> None:
    async with asking(lending=Lending(requests=1), api_key="right") as sim:
        for number in range(3):
            wrong = {"authorization": f"Bearer {number}"}
            await sim.client.post(CHAT, json=chat_body(), headers=wrong)
        await sim.client.post(CHAT, json=chat_body(model="x"), headers={"x-api-key": "right"})
        assert (await sim.summary())["used"] == []
    book = Book(Lending(), speed=1)
    assert all(book.of("a", str(number), 0.0) for number in range(MOST_KEYS))
    assert book.of("a", "one too many", 0.0) is None
    assert book.of("a", "0", 0.0) is not None


async def test_whoever_has_an_answer_may_call_again_at_once() -> None:
    lending = Lending(concurrency=1, tokens=250, charge="actual")
    async with asking(lending=lending, speed=1 / 3600, answer=lambda _: "ok") as sim:
        answers = [await sim.chat(max_tokens=200, stream=n % 2 == 1) for n in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 6


def test_a_change_keeps_what_it_does_not_name() -> None:
    book = Book(Lending(requests=10, tokens=100, concurrency=1), speed=1)
    lent = opened(book, 0.0)
    lent.quota.admit(90, 0.0)
    book.change(Change(tokens=50), 0.0)
    assert lent.quota.tokens is not None
    assert (lent.quota.tokens.limit, lent.quota.tokens.left(0.0)) == (50, 10)
    assert lent.quota.requests is not None
    assert lent.quota.requests.limit == 10
    assert lent.quota.concurrency == 1
    book.change(Change(tokens=500), 0.0)
    assert lent.quota.tokens.left(0.0) == 10, "what was used is not given back"


def test_a_windows_minutes_are_those_that_are_counted() -> None:
    book = Book(Lending(requests=5, kind=Kind.WINDOW), speed=1)
    lent = opened(book, 59.0)
    for now in (59.0, 60.0):
        for _ in range(5):
            assert lent.quota.admit(0, now) is None
            lent.requests.lend(1, now)
    [used] = book.shares(61.0)
    assert used["requests"] == [{"minute": n, "lent": 5, "limit": 5, "share": 1.0} for n in (0, 1)]


def test_shares_are_told_by_minute_and_by_the_limit_of_the_time() -> None:
    shares = Shares(minute=60, begun=0.0, limit=100)
    shares.lend(90, 10.0)
    shares.lend(60, 70.0)
    shares.change(50, 90.0)
    shares.lend(25, 119.0)
    shares.lend(-10, 119.5)
    assert shares.told(130.0) == [
        {"minute": 0, "lent": 90, "limit": 100, "share": 0.9},
        {"minute": 1, "lent": 75, "limit": 75, "share": 1.0},
    ]
    shares.lend(5, 190.0)
    assert shares.told(192.0)[2:] == [
        {"minute": 2, "lent": 0, "limit": 50, "share": 0.0},
        {"minute": 3, "lent": 5, "limit": 10, "share": 0.5},
    ], "an idle minute counts, and of one that has not ended its part"


def test_what_is_not_limited_has_no_share() -> None:
    shares = Shares(minute=60, begun=0.0, limit=None)
    shares.lend(5, 1.0)
    assert shares.told(2.0) == [{"minute": 0, "lent": 5, "limit": None, "share": None}]


def test_a_token_is_sent_at_once() -> None:
    with _listener(0) as listener:
        assert listener.proto == socket.IPPROTO_TCP, "asyncio then sets TCP_NODELAY"


@pytest.mark.parametrize(
    "wrong", [{"requests": 0}, {"tokens": -1}, {"concurrency": 0}, {"burst": 0}]
)
def test_limits_that_lend_nothing_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Lending(**wrong)
