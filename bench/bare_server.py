"""The server that Stagepost's API runs on, with nothing behind it.

The same uvicorn, event loop, protocol class and settings. A submit is answered with a constant of
the real answer's size; a stream sends what its own query says, and nobody commits anything.
"""

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs

import uvicorn
import uvloop

from bench.server import HOST
from stagepost.records import Submitted
from stagepost.settings import Settings
from stagepost.task import Status
from stagepost.web import server_config
from stagepost.web.shapes import accepted
from stagepost.web.sse import COMMENT, event_bytes
from stagepost.web.stream import QUIET

_TASK = "01a2298e-3186-7534-9f33-6b1a31ff605e"
_BODY = accepted(Submitted(_TASK, Status.QUEUED, 0), "noop", "interactive", 0)
_HEADERS = [
    (b"content-type", b"application/json"),
    (b"content-length", b"%d" % len(_BODY)),
    (b"location", b"/api/v1/tasks/%b" % _TASK.encode()),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-request-id", b"f5bcfddb0cafba7a38464fd52cfbec45-1202dfd6e5aa569c"),
]
_STREAM = [(b"content-type", b"text/event-stream; charset=utf-8"), *_HEADERS[3:]]


async def application(scope: Any, receive: Any, send: Any) -> None:
    """POST is a submit, GET a stream."""
    if scope["type"] == "lifespan":
        await _live(receive, send)
    elif scope["method"] == "POST":
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 202, "headers": list(_HEADERS)})
        await send({"type": "http.response.body", "body": _BODY})
    else:
        await send({"type": "http.response.start", "status": 200, "headers": list(_STREAM)})
        async for piece in _events(scope["query_string"]):
            await send({"type": "http.response.body", "body": piece, "more_body": True})


async def _live(receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


async def _events(query: bytes) -> AsyncIterator[bytes]:
    """A snapshot, the ticks that `bench.apps.Ticks` describes, then comments for ever."""
    wish = {name: float(texts[0]) for name, texts in parse_qs(query.decode()).items()}
    yield event_bytes("status", {"taskId": _TASK, "status": "RUNNING", "progress": 0}, 2)
    for number in range(int(wish.get("times", 0))):
        await asyncio.sleep(wish["first"] + number * wish["every"] - time.monotonic())
        message = f"{number}:{time.monotonic_ns()}"
        yield event_bytes("progress", {"progress": number % 100, "message": message}, 3 + number)
    while True:
        await asyncio.sleep(QUIET)
        yield COMMENT


def main() -> None:
    listener = socket.create_server((HOST, 0), backlog=2048)
    print(f"ready http://{HOST}:{listener.getsockname()[1]}", flush=True)
    server = uvicorn.Server(server_config(application, Settings()))
    uvloop.run(server.serve(sockets=[listener]))


if __name__ == "__main__":
    main()
