"""The provider's HTTP routes, as one ASGI application."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from stagepost.simulated import asked_anthropic, asked_openai
from stagepost.simulated.anthropic_shapes import AnthropicShapes
from stagepost.simulated.asked import Asked, BadRequest
from stagepost.simulated.calls import Calls
from stagepost.simulated.embeddings import EmbeddingShapes
from stagepost.simulated.files import NoSuchThing
from stagepost.simulated.line import Line
from stagepost.simulated.openai_shapes import OpenAIShapes, models
from stagepost.simulated.reading import TooLarge, read_json
from stagepost.simulated.shapes import Shapes

Understand = Callable[[Mapping[str, Any], Mapping[str, str], str], Asked]
"""From a body, headers and a credential to what is asked. Raises BadRequest."""


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """One kind of call; an ASGI application, since some of its answers ASGI has no word for."""

    calls: Calls
    path: str
    understand: Understand
    shapes: Callable[[Asked | None], Shapes]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        key = key_of(request.headers)
        asked: Asked | None = None
        fault: BadRequest | None = None
        try:
            body = await read_json(request)
            asked = self.understand(body, request.headers, credential_of(key))
        except ClientDisconnect:
            return
        except BadRequest as error:
            fault = error
        async with Line.open(scope, receive, send, self.calls.lines) as line:
            if asked is not None:
                await self.calls.answer(asked, self.shapes(asked), line, key)
            elif fault is not None:
                status = 413 if isinstance(fault, TooLarge) else 400
                shapes = self.shapes(None)
                await self.calls.misunderstand(self.path, fault, shapes, line, status)


def create_app(calls: Calls, *more: BaseRoute) -> Starlette:
    """The application of a provider, with routes beside those of its calls."""

    def openai(_asked: Asked | None) -> Shapes:
        return OpenAIShapes()

    def vectors(asked: Asked | None) -> Shapes:
        return OpenAIShapes() if asked is None else EmbeddingShapes(asked)

    def anthropic(_asked: Asked | None) -> Shapes:
        return AnthropicShapes()

    async def listed(_request: Request) -> Response:
        return JSONResponse(models(calls.provider.models))

    endpoints = (
        _Endpoint(calls, asked_openai.CHAT, asked_openai.chat, openai),
        _Endpoint(calls, asked_openai.EMBEDDINGS, asked_openai.embeddings, vectors),
        _Endpoint(calls, asked_anthropic.MESSAGES, asked_anthropic.messages, anthropic),
    )
    routes = [Route(each.path, each, methods=["POST"]) for each in endpoints]
    return Starlette(
        routes=[*routes, Route("/v1/models", listed), *more],
        exception_handlers={HTTPException: _not_here, BadRequest: _misunderstood},
    )


def key_of(headers: Mapping[str, str]) -> str | None:
    """The key that was sent, in either language."""
    bearer = headers.get("authorization", "").removeprefix("Bearer ").strip()
    return bearer or headers.get("x-api-key")


def credential_of(key: str | None) -> str:
    """By what the ledger knows a key, which it must not keep."""
    return "none" if key is None else hashlib.sha256(key.encode()).hexdigest()[:12]


def openai_error(status: int, message: str, param: str | None = None) -> Response:
    """A refusal in OpenAI's language."""
    kind: Final = "invalid_request_error"
    error = {"message": message, "type": kind, "param": param, "code": None}
    return JSONResponse({"error": error}, status)


async def _not_here(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    text = f"Invalid URL ({request.method} {request.url.path[:200]})"
    return openai_error(status, text)


async def _misunderstood(_request: Request, error: Exception) -> Response:
    if isinstance(error, NoSuchThing):
        return openai_error(404, str(error), error.param)
    status = 413 if isinstance(error, TooLarge) else 400
    return openai_error(status, str(error), getattr(error, "param", None))
