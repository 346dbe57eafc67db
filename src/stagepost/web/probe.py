"""What a process without the API answers: is it alive, can it work, and what does it count.

No key is asked for: it tells no task and no tenant, and those who ask are machines. It listens only
where the operator says.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stagepost.web.health import HealthRoutes
from stagepost.web.metrics import Metrics, listening
from stagepost.web.parts import Parts


def create_probe(parts: Parts) -> Starlette:
    """`/healthz`, `/readyz` and `/metrics` as the API has them, as an application of their own."""
    metrics = Metrics(parts.app.types, parts.model_names())
    health = HealthRoutes(parts, metrics)

    async def alive(_request: Request) -> Response:
        return await health.alive()

    async def ready(_request: Request) -> Response:
        return await health.ready()

    async def counts(_request: Request) -> Response:
        return await health.metrics()

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        with listening(metrics, parts):
            yield

    return Starlette(
        routes=[
            Route("/healthz", alive),
            Route("/readyz", ready),
            Route("/metrics", counts),
        ],
        lifespan=lifespan,
    )
