"""Requests and answers: time-outs, retries where they are safe, errors as sentences."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import orjson

from stagepost.addresses import is_loopback
from stagepost.masking import masked
from stagepost.remote.errors import BUSY, Unreachable, no_answer, refusal

_CONNECT: Final = 5.0  # seconds
_READ: Final = 60.0
_TRIES: Final = 5
_FIRST_DELAY: Final = 0.2  # seconds, doubled with each try
_MOST_DELAY: Final = 30.0
_MOST_PAGES: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request. `safe`: sending it twice does no more than sending it once.

    `make_body` gives httpx's body arguments anew for each try, since files are read to their end.
    `read` is how many seconds the server may be silent.
    """

    method: str
    path: str
    query: Mapping[str, Any] | list[tuple[str, str]] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    make_body: Callable[[], Mapping[str, Any]] = dict
    safe: bool = False
    read: float = _READ


class Transport:
    """Connections to one server; `url` is its address as messages show it, without a password."""

    def __init__(
        self, url: str, key: str = "", transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        address = url.rstrip("/")
        self.url = masked(address)
        headers = {"User-Agent": f"stagepost/{version('stagepost')}"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        self._client = httpx.AsyncClient(
            base_url=address,
            headers=headers,
            transport=transport,
            # No proxy stands between this machine and itself, whatever the environment says.
            trust_env=not is_loopback(urlsplit(address).hostname or ""),
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def ask(self, call: Call) -> httpx.Response:
        """The answer, read whole: a success, or 304. Raises Refused, Unreachable."""
        delay = _FIRST_DELAY
        for left in range(_TRIES - 1, -1, -1):
            try:
                response = await self._once(call)
            except httpx.ConnectError as error:
                # Nobody listens there: a server that restarts keeps its port open.
                raise no_answer(self.url, error) from error
            except httpx.TransportError as error:
                if not left or not call.safe:
                    raise no_answer(self.url, error) from error
            else:
                if response.is_success or response.status_code == httpx.codes.NOT_MODIFIED:
                    return response
                if not left or not call.safe or response.status_code not in BUSY:
                    raise refusal(self.url, response)
                delay = max(delay, retry_after(response))
            await asyncio.sleep(min(delay, _MOST_DELAY))
            delay *= 2
        raise AssertionError

    async def json(self, call: Call) -> Any:
        """The answer's JSON, None when it has no body."""
        return self.decoded(await self.ask(call))

    async def get(
        self,
        path: str,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """The JSON under a path."""
        call = Call(method="GET", path=path, query=query, headers=headers or {}, safe=True)
        return await self.json(call)

    async def post(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> Any:
        """Send JSON, once; the answer's JSON."""
        call = Call(
            method="POST", path=path, headers=headers or {}, make_body=lambda: {"json": body}
        )
        return await self.json(call)

    async def all(
        self, path: str, query: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[Any]:
        """The items of a list, read page by page."""
        after: str | None = None
        for _ in range(_MOST_PAGES):
            page = await self.get(path, {**query, "after": after}, headers)
            for item in page["items"]:
                yield item
            after = page["next"]
            if after is None:
                return
        raise Unreachable(f"The list is longer than {_MOST_PAGES} pages; narrow it by a filter.")

    def decoded(self, response: httpx.Response) -> Any:
        """The JSON of an answer. Raises Unreachable when it is none."""
        if not response.content:
            return None
        try:
            return orjson.loads(response.content)
        except orjson.JSONDecodeError as error:
            raise Unreachable(
                f"{self.url} does not answer as a Stagepost server; check --url."
            ) from error

    @asynccontextmanager
    async def opened(self, call: Call) -> AsyncIterator[httpx.Response]:
        """An answer whose body is read as it comes, with whatever status it has.

        Raises httpx.TransportError.
        """
        async with self._client.stream(
            call.method,
            call.path,
            params=_params(call.query),
            headers=_headers(call),
            timeout=_timeout(call.read),
        ) as response:
            yield response

    async def _once(self, call: Call) -> httpx.Response:
        return await self._client.request(
            call.method,
            call.path,
            params=_params(call.query),
            headers=_headers(call),
            timeout=_timeout(call.read),
            **call.make_body(),
        )


def retry_after(response: httpx.Response) -> float:
    """The seconds that a server asks to wait; 0 when it says nothing."""
    text = response.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() else 0.0


def _headers(call: Call) -> list[tuple[bytes, bytes]]:
    # A tenant's name is UTF-8, which httpx by itself does not send.
    return [(name.encode(), value.encode()) for name, value in call.headers.items()]


def _timeout(read: float) -> httpx.Timeout:
    return httpx.Timeout(connect=_CONNECT, read=read, write=_READ, pool=_CONNECT)


def _params(
    query: Mapping[str, Any] | list[tuple[str, str]] | None,
) -> httpx.QueryParams | None:
    """Query parameters; those that are None are left out."""
    if query is None:
        return None
    if isinstance(query, list):
        return httpx.QueryParams([*query])
    given = {name: value for name, value in query.items() if value is not None}
    return httpx.QueryParams(given)
