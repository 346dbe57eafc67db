"""Around every request: its ids, the headers of every answer, its count, and the last resort."""

import logging
import time
from typing import Any, Final

from stagepost.web.auth import Door
from stagepost.web.exchange import Exchange, begin
from stagepost.web.keepable import check_path
from stagepost.web.metrics import Metrics
from stagepost.web.problems import Disconnected, Problem, problem_of
from stagepost.web.roles import HEADS

_log = logging.getLogger("stagepost.web")

_SECURITY: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_DEFAULTS: Final = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
"""Sent unless the answer has its own."""


class Envelope:
    """The outermost layer; `app` is the application inside."""

    def __init__(self, app: Any, door: Door, metrics: Metrics) -> None:
        self._app = app
        self._door = door
        self._metrics = metrics

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request, or pass the life of the server on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange, began = begin(scope), time.perf_counter()
        status, method = 0, scope["method"]

        async def answer(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = _with_defaults(message.get("headers", ()), exchange)
            elif method == "HEAD":
                message = {**message, "body": b""}
            await send(message)

        try:
            self._door.guard(exchange.headers)
            check_path(scope["path"])
            # The inner layers see a GET: what HEAD answers can't differ from it.
            read = method == "HEAD" and scope["path"] in HEADS
            await self._app({**scope, "method": "GET"} if read else scope, receive, answer)
        except Disconnected:
            _log.debug("the client of %s went away", exchange.request_id)
        except Exception as error:  # noqa: BLE001  # the last resort of every request
            await self._refuse(error, exchange, scope, answer, started=status != 0)
        finally:
            seconds = time.perf_counter() - began
            self._metrics.answered(exchange.route, method, status, seconds)

    @staticmethod
    async def _refuse(
        error: Exception, exchange: Exchange, scope: Any, send: Any, *, started: bool
    ) -> None:
        if not isinstance(error, Problem):
            _log.error("request %s failed", exchange.request_id, exc_info=error)
        if not started:
            await problem_of(error).response()(scope, _no_body, send)


async def _no_body() -> Any:
    return {"type": "http.disconnect"}


def _with_defaults(headers: Any, exchange: Exchange) -> list[tuple[bytes, bytes]]:
    own = list(headers)
    names = {name for name, _ in own}
    own += [header for header in _DEFAULTS if header[0] not in names]
    own += _SECURITY
    own.append((b"x-request-id", exchange.request_id.encode()))
    return own
