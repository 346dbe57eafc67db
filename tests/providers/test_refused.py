"""Each provider's refusals through its real SDK: the kind, one request, and never the key."""

import json
import logging
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from stagepost.failure import FailureKind as Kind
from stagepost.llm.dialect import Dialect
from stagepost.llm.provider import CallRefused
from support.asking import KEY, asked_at, refused_by
from support.refused_answers import NOW, ROWS, Row
from support.scripted_provider import Line, Reply, data, events, scripted, whole


def replied(row: Row) -> Reply:
    if row.status is None:
        name = "error" if row.dialect is Dialect.ANTHROPIC else ""
        return events(data(row.body, name))
    # Some have the key of whoever asks in what they say.
    said = json.loads(json.dumps(row.body).replace("Incorrect API key provided", KEY))
    return whole(said, row.status, row.headers, "text/html" if row.body == "" else "text/plain")


def no_key_in(refused: CallRefused, log: str) -> None:
    told = [str(refused), repr(refused), repr(refused.__context__), repr(refused.__cause__), log]
    assert not any(KEY in text for text in told)


@pytest.mark.parametrize("verb", ["chat", "stream"])
@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.status])
async def test_a_refusal_comes_through_the_sdk_as_what_it_is(
    name: str, verb: str, caplog: pytest.LogCaptureFixture
) -> None:
    row = ROWS[name]
    with caplog.at_level(logging.DEBUG):
        async with scripted(replied(row)) as server, asked_at(server.address, row.dialect) as asked:
            refused = await refused_by(asked, verb)
    assert refused.refusal.kind is row.kind
    assert refused.refusal.retry_after == (None if row.wait is None else pytest.approx(row.wait))
    assert len(server.asked) == 1, "the SDK must not ask again"
    assert KEY in " ".join(server.asked[0].headers.values())
    no_key_in(refused, caplog.text)


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if not row.status])
async def test_an_error_in_a_stream_is_what_it_would_be_before_it(name: str) -> None:
    row = ROWS[name]
    async with scripted(replied(row)) as server, asked_at(server.address, row.dialect) as asked:
        refused = await refused_by(asked, "stream")
    expected = Kind.TIMEOUT if name == "nothing that is known" else row.kind
    assert refused.refusal.kind is expected
    assert refused.refusal.maybe_billed
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"error": {"code": 429, "message": "Too many."}}, Kind.RATE_LIMIT),
        ({"error": {"code": 503, "message": "Provider is down."}}, Kind.OVERLOADED),
        ([{"error": {"code": 503, "status": "UNAVAILABLE", "message": "Busy."}}], Kind.OVERLOADED),
        ({"code": "DataInspectionFailed", "message": "No."}, Kind.CONTENT_POLICY),
        ("<html>Welcome to the hotel's network</html>", Kind.SERVER_ERROR),
        ([], Kind.SERVER_ERROR),
        ({"choices": []}, Kind.TIMEOUT),
        ({"choices": [{"message": {"content": 7}, "finish_reason": 8}]}, Kind.TIMEOUT),
    ],
)
async def test_an_error_may_come_as_an_answer(body: Any, kind: Kind) -> None:
    async with (
        scripted(whole(body)) as server,
        asked_at(server.address, Dialect.OTHER) as asked,
    ):
        refused = await refused_by(asked, "chat")
    assert refused.refusal.kind is kind
    assert refused.refusal.maybe_billed


async def test_a_wait_that_grows_is_read_anew_from_each_refusal() -> None:
    row = ROWS["openai requests a minute"]
    told = {"error": {**row.body["error"], "message": "Rate limit reached."}}
    later = format_datetime(NOW + timedelta(seconds=300), usegmt=True)
    waits = iter(
        [{"retry-after": "1"}, {"retry-after-ms": "5000"}, {"retry-after": "30"},
         {"retry-after": later}, {}]
    )  # fmt: skip

    async def reply(line: Line) -> None:
        await whole(told, 429, next(waits))(line)

    async with scripted(reply) as server, asked_at(server.address, Dialect.OPENAI) as asked:
        found = [(await refused_by(asked, "chat")).refusal.retry_after for _ in range(5)]
    assert found[:4] == [1.0, 5.0, 30.0, 300.0]
    assert found[4] is None, "nothing is left of the ones before"
    assert len(server.asked) == 5, "the SDK must not wait and ask by itself"


async def test_what_the_headers_tell_of_limits_comes_with_a_refusal() -> None:
    headers = {"retry-after": "7", "x-ratelimit-remaining-requests": "0", "x-request-id": "req-9"}
    row = ROWS["openai requests a minute"]
    async with (
        scripted(whole(row.body, 429, {**headers, "set-cookie": "a=b"})) as server,
        asked_at(server.address, Dialect.OPENAI) as asked,
    ):
        refused = await refused_by(asked, "chat")
    assert refused.heard.request_id == "req-9"
    assert refused.heard.limits == {"retry-after": "7", "x-ratelimit-remaining-requests": "0"}
    assert refused.answer is None
