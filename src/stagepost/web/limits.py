"""Bodies, read within their limits."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

import orjson
from starlette.requests import Request

from stagepost.settings import Limits
from stagepost.web.exchange import Exchange, exchange_of
from stagepost.web.problems import Disconnected, Kind, Problem

SLOWEST: Final = 30.0
"""Seconds that a client may let pass between two pieces of its body."""

_PARSERS_DEPTH: Final = "depth limit exceeded"
"""What the parser says of JSON that is nested deeper than it goes itself."""


async def body_pieces(
    exchange: Exchange, receive: Any, most: int, *, what: str = "body"
) -> AsyncIterator[bytes]:
    """A body's pieces as they arrive, at most `most` bytes in all.

    Raises Problem when more is announced or comes, or when the client falls silent; Disconnected.
    """
    _check_announced(exchange, most, what)
    size, more = 0, True
    while more:
        message = await _next_piece(receive)
        piece: bytes = message.get("body", b"")
        more = message.get("more_body", False)
        size += len(piece)
        if size > most:
            raise too_large(what, most)
        if piece:
            yield piece


async def read_body(exchange: Exchange, receive: Any, most: int) -> bytes:
    """A whole body."""
    _check_announced(exchange, most, "body")
    message = await _next_piece(receive)
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False):
        if len(body) > most:
            raise too_large("body", most)
        return body
    pieces, size = [body], len(body)
    while message.get("more_body", False):
        message = await _next_piece(receive)
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > most:
            raise too_large("body", most)
    return b"".join(pieces)


async def read_json(request: Request, limits: Limits) -> Any:
    """A body of JSON; None when there is no body at all."""
    exchange = exchange_of(request.scope)
    check_plain(exchange)
    body = await read_body(exchange, request.receive, limits.json_bytes)
    if not body:
        return None
    if media_type_of(exchange) != "application/json":
        raise unsupported("Send JSON with Content-Type: application/json.")
    return parse_json(body, limits.json_depth)


def media_type_of(exchange: Exchange) -> str:
    """The body's media type without parameters; empty when none is named."""
    return (exchange.text(b"content-type") or "").partition(";")[0].strip().lower()


def check_plain(exchange: Exchange) -> None:
    """Refuse a compressed body: a few bytes of it could become gigabytes."""
    encoding = exchange.headers.get(b"content-encoding", b"identity")
    if encoding.strip().lower() not in {b"", b"identity"}:
        raise unsupported("Send the body without Content-Encoding.")


def parse_json(body: bytes, depth: int) -> Any:
    """JSON text as data; refused with the place of the fault."""
    if not body:
        raise Problem(Kind.BAD_REQUEST, "The body is empty; send JSON.")
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        if error.msg == _PARSERS_DEPTH:
            raise _too_deep(depth) from error
        raise Problem(Kind.BAD_REQUEST, f"The body is no valid JSON: {error}.") from error
    check_depth(body, value, depth)
    return value


def check_depth(body: bytes, value: Any, depth: int) -> None:
    """Refuse JSON that is nested deeper than `depth`.

    Linear in the body's length: counting brackets clears nearly every body at once, the others are
    walked level by level.
    """
    if body.count(b"{") + body.count(b"[") <= depth:
        return
    level = [value]
    for _ in range(depth):
        level = [
            child
            for item in level
            for child in (item.values() if type(item) is dict else item)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return
    raise _too_deep(depth)


def _too_deep(depth: int) -> Problem:
    return Problem(Kind.BAD_REQUEST, f"The JSON is nested deeper than {depth} levels.")


def too_large(what: str, most: int) -> Problem:
    """A 413 that names the limit."""
    return Problem(
        Kind.TOO_LARGE,
        f"The {what} is larger than {_size(most)}; large files go up alone by POST /api/v1/uploads."
        if what == "body"
        else f"The {what} is larger than {_size(most)}.",
    )


def unsupported(detail: str) -> Problem:
    """A 415."""
    return Problem(Kind.UNSUPPORTED_MEDIA_TYPE, detail)


def _check_announced(exchange: Exchange, most: int, what: str) -> None:
    announced = exchange.headers.get(b"content-length")
    if announced is not None and announced.isdigit() and int(announced) > most:
        raise too_large(what, most)


async def _next_piece(receive: Any) -> Any:
    try:
        async with asyncio.timeout(SLOWEST):
            message = await receive()
    except TimeoutError:
        raise Problem(
            Kind.BAD_REQUEST, f"The body did not go on for {SLOWEST:.0f} s.", headers=_CLOSE
        ) from None
    if message["type"] == "http.disconnect":
        raise Disconnected
    return message


_CLOSE: Final = {"Connection": "close"}


def _size(number: int) -> str:
    for unit, name in ((1024 * 1024, "MiB"), (1024, "KiB")):
        if number >= unit and number % unit == 0:
            return f"{number // unit} {name}"
    return f"{number} bytes"
