"""What a serving process answers by HTTP: the API, the probe, or nothing."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from typing import Final

import uvicorn

from stagepost.errors import Retryable, Terminal
from stagepost.part import Part
from stagepost.web import Parts, bounded_config, create_app, create_probe, server_config
from stagepost.web.parts import Check
from stagepost.wiring import Engine

_CLOSING: Final = 30.0  # seconds for the last answers


class Web:
    """Serves on a socket; without one it only waits to be closed."""

    def __init__(self, engine: Engine, listener: socket.socket | None) -> None:
        self.answers = asyncio.Event()
        """Set once it answers; without a socket, as soon as it runs."""
        self._draining = asyncio.Event()
        self._listener = listener
        self._server = _Server(self._config(engine), self.answers.set)

    async def run(self) -> None:
        """Serve until closed."""
        if self._listener is None:
            self.answers.set()
            await self._draining.wait()
        else:
            await self._server.serve(sockets=[self._listener])

    async def close(self, running: "asyncio.Task[None]") -> None:
        """End politely what is open, and wait for the end of `run`."""
        self._draining.set()
        self._server.should_exit = True
        await asyncio.wait({running}, timeout=_CLOSING)

    def _config(self, engine: Engine) -> uvicorn.Config:
        parts = _parts(engine, self._draining)
        if Part.API in engine.parts:
            return server_config(create_app(parts), engine.settings)
        return bounded_config(create_probe(parts), "", 0)


class _Server(uvicorn.Server):
    """Signals are not its business: the worker drains first."""

    def __init__(self, config: uvicorn.Config, answers: Callable[[], None]) -> None:
        super().__init__(config)
        self._answers = answers

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and tell that it answers now."""
        await super().startup(sockets)
        if self.started:
            self._answers()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield


def _parts(engine: Engine, draining: asyncio.Event) -> Parts:
    return Parts(
        settings=engine.settings,
        app=engine.app,
        client=engine.client,
        store=engine.store,
        notifier=engine.notifier,
        bus=engine.bus,
        limiting=engine.limiting,
        codec=engine.codec,
        models=engine.models,
        asking=engine.asking,
        blobs=engine.blobs,
        clock=engine.clock,
        checks=_checks(engine),
        draining=draining,
    )


def _checks(engine: Engine) -> dict[str, Check]:
    async def worker() -> None:
        match engine.worker.state:
            case "running":
                return
            case "stalled":
                raise Retryable("A handler blocks the worker's event loop; no tasks are claimed.")
            case other:
                raise Terminal(f"The worker is {other}.")

    checks: dict[str, Check] = {"bus": engine.bus.ping, "limiter": engine.limiting.limiter.ping}
    if Part.WORKER in engine.parts:
        checks["worker"] = worker
    return checks
