"""A simulated provider on a port of this machine."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Final

import uvicorn

from stagepost.clock import SystemClock
from stagepost.simulated.app import create_app
from stagepost.simulated.batch_routes import BatchRoutes
from stagepost.simulated.batch_runs import BatchRuns
from stagepost.simulated.control import Control
from stagepost.simulated.provider import SimulatedProvider
from stagepost.simulated.simulation import Simulation
from stagepost.web.server import bounded_config

HOST: Final = "127.0.0.1"
_STARTING: Final = 30.0
_CLOSING: Final = 20.0


class NotServing(Exception):
    """The port can't be had, or the server did not come up; says why."""


@asynccontextmanager
async def serve(
    provider: SimulatedProvider | None = None, *, port: int = 0
) -> AsyncIterator[Simulation]:
    """Serve a provider in this event loop until the block ends; port 0 is any free one.

    Calls that are open at the end are cut. Raises NotServing, LedgerUnreadable.
    """
    simulation = Simulation(provider or SimulatedProvider(), SystemClock())
    simulation.judge.open()
    try:
        with _listener(port) as listener:
            async with _serving(simulation, listener):
                simulation.url = f"http://{HOST}:{listener.getsockname()[1]}"
                yield simulation
    finally:
        await simulation.judge.close()


@asynccontextmanager
async def _serving(simulation: Simulation, listener: socket.socket) -> AsyncIterator[None]:
    runs = BatchRuns(simulation.batches, simulation.calls)
    more = [*BatchRoutes(runs).routes(), *Control(simulation).routes()]
    app = create_app(simulation.calls, *more)
    config = bounded_config(app, HOST, 0)
    config.timeout_graceful_shutdown = 5
    server = _Server(config)
    running = asyncio.create_task(server.serve(sockets=[listener]), name="simulated provider")
    try:
        await server.answers(running)
        yield
    finally:
        server.should_exit = True
        await runs.close()
        for line in list(simulation.calls.lines):
            await line.cut()
        await asyncio.wait({running}, timeout=_CLOSING)
        running.cancel()


class _Server(uvicorn.Server):
    """Signals are its owner's business."""

    async def answers(self, running: "asyncio.Task[None]") -> None:
        """Return once it answers. Raises NotServing."""
        for _ in range(int(_STARTING / 0.01)):
            if self.started:
                return
            if running.done():
                break
            await asyncio.sleep(0.01)
        raise NotServing("The simulated provider did not come up.")

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield


def _listener(port: int) -> socket.socket:
    # With the protocol named, asyncio sends each token at once (TCP_NODELAY), else 40 ms late.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise NotServing(f"Port {port} can't be had ({error.strerror}).") from error
    listener.listen(1_024)
    return listener
