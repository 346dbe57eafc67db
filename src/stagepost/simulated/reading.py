"""Bodies, read within their limits."""

import asyncio
from typing import Final

import orjson
from starlette.requests import Request

from stagepost.simulated.asked import BadRequest
from stagepost.web.limits import check_depth
from stagepost.web.problems import Problem

MOST_BYTES: Final = 16 * 1024 * 1024
"""Of a body of JSON."""
MOST_DEPTH: Final = 100
"""Levels of a body of JSON."""
_SLOWEST: Final = 30.0
"""Seconds between two pieces of a body."""


class TooLarge(BadRequest):
    """A body is larger than it may be."""


async def read_body(request: Request, most: int = MOST_BYTES) -> bytes:
    """A whole body. Raises BadRequest, ClientDisconnect."""
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity"}:
        raise BadRequest("Send the body without Content-Encoding.")
    pieces: list[bytes] = []
    size = 0
    stream = request.stream()
    try:
        while True:
            async with asyncio.timeout(_SLOWEST):
                piece = await anext(stream, None)
            if piece is None:
                return b"".join(pieces)
            size += len(piece)
            if size > most:
                raise TooLarge(f"The body is larger than {most} bytes.")
            pieces.append(piece)
    except TimeoutError:
        raise BadRequest(f"The body did not go on for {_SLOWEST:.0f} s.") from None
    finally:
        await stream.aclose()


async def read_json(request: Request, most: int = MOST_BYTES) -> dict[str, object]:
    """A body that is a JSON object. Raises BadRequest, ClientDisconnect."""
    return parsed(await read_body(request, most))


def parsed(body: bytes) -> dict[str, object]:
    """The object that a text of JSON has. Raises BadRequest."""
    try:
        found = orjson.loads(body)
        check_depth(body, found, MOST_DEPTH)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"We could not parse the JSON body of your request: {error}.") from error
    except Problem as error:
        raise BadRequest(error.detail) from error
    if not isinstance(found, dict):
        raise BadRequest("The body must be a JSON object.")
    return found
