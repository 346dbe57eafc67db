"""The way to a provider and back: one HTTP client with bounds, and what its failures mean.

Both SDKs stand on the same HTTP client. It follows no redirect (a base_url that redirects is a
wrong one), takes no compressed answers (a few kilobytes could unfold to gigabytes), and reads
answers only so far.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextvars import ContextVar
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import httpx2

from stagepost.clock import Clock
from stagepost.failure import FailureKind
from stagepost.llm.dialect import Dialect
from stagepost.llm.provider import CallRefused, Hear, Heard, Timeouts
from stagepost.llm.refusal import Refusal, refusal_of
from stagepost.llm.said import Said

MOST_ANSWER: Final = 32 * 1024 * 1024
MOST_STREAM: Final = 64 * 1024 * 1024
"""Bytes of an answer; a stream has a few hundred for each token."""

_MOST_ERROR: Final = 1024 * 1024  # bytes of an error's body that are looked at
_REDIRECT: Final = 300
_ERRORS: Final = range(400, 600)
_SECRET: Final = 8  # characters; what is shorter (EMPTY, none) is no key but a word
_DEEPEST_CAUSE: Final = 10

_MOST_HEADERS: Final = 40
_LONGEST_HEADER: Final = 256
_LIMITS: Final = ("x-ratelimit-", "anthropic-ratelimit-", "ratelimit-", "retry-after")
_REQUEST_IDS: Final = ("x-request-id", "request-id", "apim-request-id")

_K = FailureKind
Result = TypeVar("Result")


class _TooLarge(Exception):
    pass


class _Compressed(Exception):
    pass


def open_client() -> httpx2.AsyncClient:
    """The HTTP client of one provider."""
    return httpx2.AsyncClient(
        headers={"accept-encoding": "identity"},
        limits=httpx2.Limits(max_connections=1_000, max_keepalive_connections=100),
        follow_redirects=False,
        event_hooks={"response": [_told_early, _bound]},
    )


_HEARING: Final[ContextVar[Hear | None]] = ContextVar("stagepost_hearing", default=None)
"""Who is told of the headers of what this asyncio task asks for."""


async def _told_early(response: httpx2.Response) -> None:
    # Both SDKs give an answer only whole: the headers of a long one would be old by then.
    if (hear := _HEARING.get()) is not None:
        hear(heard_in(response.headers))


async def _bound(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise _Compressed
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    if response.status_code >= _REDIRECT:
        response.stream = _Bounded(response.stream, _MOST_ERROR, cut=True)
    else:
        kind = response.headers.get("content-type", "")
        most = MOST_STREAM if kind.startswith("text/event-stream") else MOST_ANSWER
        response.stream = _Bounded(response.stream, most, cut=False)


class _Bounded(httpx2.AsyncByteStream):
    """So many bytes of another stream; more are left unread, or are too many."""

    def __init__(self, stream: httpx2.AsyncByteStream, most: int, *, cut: bool) -> None:
        self._stream = stream
        self._left = most
        self._cut = cut

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            self._left -= len(part)
            if self._left >= 0:
                yield part
            elif self._cut:
                return
            else:
                raise _TooLarge

    async def aclose(self) -> None:
        await self._stream.aclose()


_MEANINGS: Final[tuple[tuple[tuple[type[BaseException], ...], FailureKind, bool, str], ...]] = (
    ((_TooLarge,), _K.SERVER_ERROR, True, "The answer is larger than any answer should be"),
    ((_Compressed,), _K.CONFIG, True, "The answer is compressed, though none was asked for"),
    ((UnicodeEncodeError,), _K.INVALID_INPUT, False, "The request holds half a character"),
    ((httpx2.ConnectTimeout, httpx2.PoolTimeout), _K.TIMEOUT, False, "No connection in time"),
    ((TimeoutError, httpx2.TimeoutException), _K.TIMEOUT, True, "No answer in time"),
    (
        (ssl.SSLCertVerificationError, httpx2.UnsupportedProtocol, httpx2.LocalProtocolError,
         httpx2.InvalidURL),
        _K.CONFIG, False, "The provider can't be reached as models.toml says",
    ),
    ((httpx2.ConnectError, httpx2.ProxyError), _K.SERVER_ERROR, False, "No connection"),
    ((httpx2.RequestError, OSError), _K.SERVER_ERROR, True, "The connection broke"),
    ((ValueError, RecursionError), _K.SERVER_ERROR, True, "The answer can't be read"),
)  # fmt: skip
"""The first whose exception is among the causes: kind, whether it may be billed, a sentence."""


class Way:
    """Tells what comes back from one provider; never tells its key."""

    def __init__(self, dialect: Dialect, key: str, clock: Clock) -> None:
        self._dialect = dialect
        self._key = key if len(key) >= _SECRET else ""
        self._clock = clock

    async def within(
        self,
        work: Awaitable[Result],
        until: float,
        late: str,
        *,
        began: bool = False,
        hear: Hear | None = None,
    ) -> Result:
        """What the SDK gives, by an instant of the event loop. Raises CallRefused.

        `late` is the sentence for a time-out, `began` says that the answer has begun to come.
        `hear` is told of its headers as soon as they are there.
        """
        timeout = asyncio.timeout_at(until)
        told = _HEARING.set(hear)
        try:
            async with timeout:
                return await work
        except Exception as error:  # noqa: BLE001  # whatever it is, this call has failed
            if timeout.expired():
                failed = CallRefused(Refusal(_K.TIMEOUT, late, maybe_billed=True))
            else:
                failed = self._failed(error, began=began)
        finally:
            _HEARING.reset(told)
        # Not inside the handler: the SDK's exception holds the request, and that the key.
        raise failed

    def json(self, response: httpx2.Response) -> Any:
        """The JSON of an answer. Raises CallRefused where it is none, or tells an error."""
        body, heard = self._body(response), heard_in(response.headers)
        first = body[0] if isinstance(body, list) and body else body
        if isinstance(first, dict) and is_error(first):
            raise self.told(body, heard)
        if not isinstance(body, dict):
            what = "The answer is no JSON object."
            raise CallRefused(Refusal(_K.SERVER_ERROR, what, maybe_billed=True), heard)
        return body

    def told(self, body: Any, heard: Heard) -> CallRefused:
        """What an error means that came where an answer should, after a status of 200."""
        code = Said(None, {}, body).error.get("code")
        status = code if isinstance(code, int) and code in _ERRORS else None
        refusal = refusal_of(
            Said(status, heard.limits, self._without_key(body)), self._dialect, self._now()
        )
        return CallRefused(replace(refusal, maybe_billed=True), heard)

    def _failed(self, error: Exception, *, began: bool) -> CallRefused:
        response = getattr(error, "response", None)
        headers: Mapping[str, str] = {}
        if isinstance(response, httpx2.Response):
            headers = response.headers
            if response.status_code >= _REDIRECT:
                said = Said(response.status_code, headers, self._body(response))
                refusal = refusal_of(said, self._dialect, self._now())
                return CallRefused(refusal, heard_in(headers))
        body = getattr(error, "body", None)
        if body is not None:
            return self.told(body, heard_in(headers))
        return CallRefused(self._broken(error, began=began), heard_in(headers))

    def _broken(self, error: Exception, *, began: bool) -> Refusal:
        causes = _causes(error)
        for classes, kind, billed, sentence in _MEANINGS:
            found = next((cause for cause in causes if isinstance(cause, classes)), None)
            if found is not None:
                cut = began and kind is _K.SERVER_ERROR and not isinstance(found, _TooLarge)
                kind = _K.TIMEOUT if cut else kind  # noqa: PLW2901  # a stream that has no end
                return Refusal(kind, self._sentence(sentence, found), maybe_billed=billed)
        sentence = f"The SDK has failed: {type(error).__name__}"
        return Refusal(_K.BUG, self._sentence(sentence, error), maybe_billed=True)

    def _sentence(self, sentence: str, error: BaseException) -> str:
        said = self._without_key(str(error))
        return f"{sentence} ({said})." if said else f"{sentence}."

    def _body(self, response: httpx2.Response) -> Any:
        try:
            text = self._without_key(response.text)
        except httpx2.StreamError:
            return None
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text

    def _without_key(self, body: Any) -> Any:
        if not self._key:
            return body
        if isinstance(body, str):
            return body.replace(self._key, "***")
        try:
            return json.loads(json.dumps(body).replace(self._key, "***"))
        except (TypeError, ValueError, RecursionError):
            return None

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now() / 1_000, UTC)


def connect_timeout(timeouts: Timeouts) -> httpx2.Timeout:
    """For the HTTP client: all but the connecting is watched by us."""
    return httpx2.Timeout(None, connect=timeouts.connect, pool=timeouts.connect)


def is_error(body: Mapping[str, Any]) -> bool:
    """Whether an object that came as an answer, or as a part of one, tells an error."""
    if body.get("error") or body.get("type") == "error":
        return True
    return not body.get("choices") and "code" in body and "message" in body


def heard_in(headers: Mapping[str, str], *, model: str = "", id_: str = "") -> Heard:
    """What the headers tell; `id_` is the request's where they have none."""
    lowered = {name.lower(): value[:_LONGEST_HEADER] for name, value in headers.items()}
    limits = [(name, value) for name, value in lowered.items() if name.startswith(_LIMITS)]
    request_id = next((lowered[name] for name in _REQUEST_IDS if name in lowered), id_)
    return Heard(request_id, model, dict(limits[:_MOST_HEADERS]))


def _causes(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    each: BaseException | None = error
    while each is not None and len(found) < _DEEPEST_CAUSE:
        found.append(each)
        each = each.__cause__ or each.__context__
    return found
