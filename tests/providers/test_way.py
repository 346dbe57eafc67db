"""The way to a provider: bounds of what comes back, and failures of the connection itself."""

import asyncio
import gzip
import socket
import ssl

import pytest

from stagepost.failure import FailureKind as Kind
from stagepost.llm.dialect import Dialect
from stagepost.llm.provider import CallRefused, Timeouts
from stagepost.providers import way
from stagepost.testing import FakeClock
from support.asking import HELLO, KEY, asked_at, refused_by
from support.refused_answers import ROWS
from support.scripted_provider import Line, Reply, data, events, scripted, whole

DIALECTS = [Dialect.OPENAI, Dialect.ANTHROPIC]
FLOOD = 8 * 1024 * 1024


def flood(status: int, kind: str, piece: bytes) -> Reply:
    async def reply(line: Line) -> None:
        await line.head(status, {"content-type": kind, "connection": "close"})
        for _ in range(FLOOD // len(piece)):
            await line.send(piece)

    return reply


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("verb", ["chat", "stream"])
async def test_an_answer_without_end_is_read_only_so_far(
    dialect: Dialect, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(way, "MOST_ANSWER", 1_000_000)
    monkeypatch.setattr(way, "MOST_STREAM", 2_000_000)
    kind = "application/json" if verb == "chat" else "text/event-stream"
    piece = b" " * 65_536 if verb == "chat" else b": " + b"-" * 65_532 + b"\n\n"
    async with (
        scripted(flood(200, kind, piece)) as server,
        asked_at(server.address, dialect) as asked,
    ):
        refused = await refused_by(asked, verb)
        async with asyncio.timeout(10):
            await server.left.wait()
    assert refused.refusal.maybe_billed
    assert "larger than any answer should be" in str(refused)
    assert refused.refusal.kind is Kind.SERVER_ERROR


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("verb", ["chat", "stream"])
async def test_of_an_error_without_end_the_beginning_counts(dialect: Dialect, verb: str) -> None:
    async with (
        scripted(flood(429, "text/html", b"wait " * 10_000)) as server,
        asked_at(server.address, dialect) as asked,
    ):
        refused = await refused_by(asked, verb)
    # Anthropic's 429 that asks for no wait is about money.
    expected = Kind.QUOTA if dialect is Dialect.ANTHROPIC else Kind.RATE_LIMIT
    assert refused.refusal.kind is expected
    assert len(refused.refusal.message) <= 4_000


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_no_compressed_answer_is_asked_for_nor_taken(dialect: Dialect) -> None:
    bomb = gzip.compress(b" " * 1_000_000)

    async def reply(line: Line) -> None:
        fixed = {"content-encoding": "gzip", "content-length": str(len(bomb))}
        await line.head(200, {"content-type": "application/json", **fixed})
        await line.send(bomb)

    async with scripted(reply) as server, asked_at(server.address, dialect) as asked:
        refused = await refused_by(asked, "chat")
    assert server.asked[0].headers["accept-encoding"] == "identity"
    assert refused.refusal.kind is Kind.CONFIG
    assert "compressed" in str(refused)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_redirect_is_not_followed(dialect: Dialect) -> None:
    async with scripted(whole({"never": "asked"})) as other:
        away = {"location": f"{other.address}/elsewhere"}
        async with (
            scripted(whole("", 307, away)) as server,
            asked_at(server.address, dialect) as asked,
        ):
            refused = await refused_by(asked, "chat")
    assert refused.refusal.kind is Kind.CONFIG
    assert other.asked == [], "the key stays where it belongs"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("verb", ["chat", "stream"])
async def test_where_nobody_listens_nothing_is_billed(dialect: Dialect, verb: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and not listening
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        async with asked_at(address, dialect) as asked:
            refused = await refused_by(asked, verb)
    assert (refused.refusal.kind, refused.refusal.maybe_billed) == (Kind.SERVER_ERROR, False)
    assert "No connection" in str(refused)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_who_never_accepts_is_not_waited_for(dialect: Dialect) -> None:
    with socket.socket() as deaf, socket.socket() as first:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        # The one place in its line is taken, so that a further connection is not even answered.
        first.connect(deaf.getsockname())
        second = socket.socket()
        second.setblocking(False)
        second.connect_ex(deaf.getsockname())
        address = f"http://127.0.0.1:{deaf.getsockname()[1]}/v1"
        async with asked_at(address, dialect) as asked:
            refused = await refused_by(asked, "chat", timeouts=Timeouts(connect=0.3))
        second.close()
    assert (refused.refusal.kind, refused.refusal.maybe_billed) == (Kind.TIMEOUT, False)
    assert "No connection in time" in str(refused)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_server_without_tls_is_no_provider_by_https(dialect: Dialect) -> None:
    async def speak_plainly(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(speak_plainly, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with asked_at(f"https://127.0.0.1:{port}/v1", dialect) as asked:
            refused = await refused_by(asked, "chat")
    assert (refused.refusal.kind, refused.refusal.maybe_billed) == (Kind.SERVER_ERROR, False)


async def broken(error: Exception) -> CallRefused:
    async def work() -> None:
        raise error

    until = asyncio.get_running_loop().time() + 10
    with pytest.raises(CallRefused) as raised:
        await way.Way(Dialect.OPENAI, KEY, FakeClock()).within(work(), until, "late")
    assert raised.value.__context__ is None, "the SDK's exception holds the key"
    return raised.value


async def test_a_wrong_certificate_is_a_matter_of_configuration() -> None:
    error = ConnectionError("no")
    error.__cause__ = ssl.SSLCertVerificationError(1, "self-signed certificate")
    refused = await broken(error)
    assert (refused.refusal.kind, refused.refusal.maybe_billed) == (Kind.CONFIG, False)


async def test_what_nobody_expects_is_a_fault_in_the_code_and_tells_no_key() -> None:
    refused = await broken(TypeError(f"{KEY} is odd"))
    assert refused.refusal.kind is Kind.BUG
    assert str(refused).endswith("The SDK has failed: TypeError (*** is odd).")


async def test_half_a_character_is_not_sent() -> None:
    message = HELLO.messages[0]
    half = type(HELLO)("m-1", (type(message)(message.role, "\ud83d"),))
    async with scripted(whole({})) as server, asked_at(server.address, Dialect.OPENAI) as asked:
        refused = await refused_by(asked, "chat", half)
    assert (refused.refusal.kind, refused.refusal.maybe_billed) == (Kind.INVALID_INPUT, False)
    assert server.asked == []


async def test_a_key_in_a_stream_is_not_told() -> None:
    error = {"error": {"message": f"Your key {KEY} is tired.", "code": "invalid_api_key"}}
    async with (
        scripted(events(data(error))) as server,
        asked_at(server.address, Dialect.OPENAI) as asked,
    ):
        refused = await refused_by(asked, "stream")
    assert refused.refusal.message == "Your key *** is tired."
    assert refused.refusal.kind is Kind.AUTH


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_many_calls_share_a_client_and_a_closed_one_fails(dialect: Dialect) -> None:
    row = ROWS["openai overloaded"]
    async with (
        scripted(whole(row.body, 503)) as server,
        asked_at(server.address, dialect) as asked,
    ):
        several = await asyncio.gather(*(refused_by(asked, "chat") for _ in range(20)))
        assert {each.refusal.kind for each in several} == {Kind.OVERLOADED}
        assert len(server.asked) == 20
        await asked.close()
        refused = await refused_by(asked, "chat")
    assert len(server.asked) == 20
    assert refused.refusal.kind is Kind.BUG
