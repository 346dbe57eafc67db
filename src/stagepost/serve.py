"""The process that `stagepost up` keeps alive: the API and a worker on one engine.

Started by the supervisor with what it shares as the last arguments: the listening socket, the pipe
for signs of life, and the supervisor's process id.
"""

import argparse
import asyncio
import contextlib
import faulthandler
import io
import logging
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn, TextIO

import uvicorn
import uvloop

from stagepost import interpreter
from stagepost.errors import Conflict, Retryable, StoreRefused, Terminal
from stagepost.lifeline import die_with
from stagepost.logs import LogLines
from stagepost.masking import masked
from stagepost.registry import App
from stagepost.settings import Settings, from_environment
from stagepost.supervised import REPLACE_ME, Supervised
from stagepost.web import Parts, bootstrap, create_app, server_config
from stagepost.wiring import Engine, check_lanes, open_engine, registered

_log = logging.getLogger("stagepost.serve")

USAGE: Final = 2
REFUSED: Final = 4
_BEAT: Final = 1.0  # seconds between two signs of life
_MOST_FILES: Final = 1_048_576
_CLOSING: Final = 30.0  # seconds for the last answers


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


@dataclass(frozen=True, slots=True)
class _Shared:
    """What the supervisor has opened for this process."""

    listener: socket.socket
    pipe: int
    stdout: TextIO


async def _serve(settings: Settings, app: App, shared: _Shared) -> int:
    supervised = Supervised(shared.pipe)
    supervised.obey()
    async with open_engine(settings, app) as engine:
        # What is refused is refused before the first sign of life (see supervisor).
        await _first_key(engine, shared.stdout)
        beating = asyncio.create_task(
            supervised.beat(min(_BEAT, settings.stall_after / 4)), name="signs of life"
        )
        try:
            healthy = await _answer(engine, supervised, shared.listener)
        finally:
            beating.cancel()
    return 0 if healthy or supervised.told_to_stop.is_set() else REPLACE_ME


async def _first_key(engine: Engine, stdout: TextIO) -> None:
    try:
        key = await bootstrap(engine.store, engine.settings)
    except (ValueError, Conflict) as error:
        raise StoreRefused(str(error)) from error
    if key is not None:
        stdout.write(f"admin key of tenant default (shown only now): {key}\n")
        stdout.flush()


async def _answer(engine: Engine, supervised: Supervised, listener: socket.socket) -> bool:
    """Serve until told to stop or in need of replacement; False in the latter case."""
    draining = asyncio.Event()
    config = server_config(create_app(_parts(engine, draining)), engine.settings)
    server = _Server(config, supervised.ready)
    serving = asyncio.create_task(server.serve(sockets=[listener]), name="web")
    told = asyncio.create_task(supervised.told_to_stop.wait(), name="told to stop")
    worked = asyncio.create_task(engine.worker.ended(), name="worker ended")
    try:
        await asyncio.wait({serving, told, worked}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            _log.critical("the API has ended by a fault", exc_info=serving.exception())
        await _drained(engine, supervised, worked)
        draining.set()
        server.should_exit = True
        await asyncio.wait({serving}, timeout=_CLOSING)
    finally:
        told.cancel()
        worked.cancel()
    return told.done() and not engine.worker.stuck


async def _drained(engine: Engine, supervised: Supervised, worked: "asyncio.Task[None]") -> None:
    # The API answers meanwhile, so that those who watch see their tasks go back to the queue.
    engine.worker.drain()
    hurry = asyncio.create_task(supervised.in_a_hurry.wait(), name="in a hurry")
    await asyncio.wait({worked, hurry}, return_when=asyncio.FIRST_COMPLETED)
    if hurry.done():
        engine.worker.hurry()
    hurry.cancel()
    await asyncio.wait({worked})


def _parts(engine: Engine, draining: asyncio.Event) -> Parts:
    async def worker() -> None:
        match engine.worker.state:
            case "running":
                return
            case "stalled":
                raise Retryable("A handler blocks the worker's event loop; no tasks are claimed.")
            case other:
                raise Terminal(f"The worker is {other}.")

    return Parts(
        settings=engine.settings,
        app=engine.app,
        client=engine.client,
        store=engine.store,
        notifier=engine.notifier,
        bus=engine.bus,
        blobs=engine.blobs,
        clock=engine.clock,
        checks={"worker": worker},
        draining=draining,
    )


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="stagepost.serve", description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--host")
    parser.add_argument("--app")
    parser.add_argument("--concurrency", type=int)
    for shared in ("listener", "pipe", "supervisor"):
        parser.add_argument(shared, type=int)
    return parser.parse_args(arguments)


def _raise_file_limit() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _own_stdout() -> TextIO:
    """The real stdout; what handlers print goes to stderr, since stdout says what `up` promises."""
    own = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    return own


def _run(settings: Settings, shared: _Shared) -> int:
    try:
        app = registered(settings)
        check_lanes(app, settings)
    except (ValueError, TypeError) as error:
        return _refuse(error, USAGE)
    interpreter.tune()
    runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    try:
        return runner.run(_serve(settings, app, shared))
    except StoreRefused as error:
        return _refuse(error, REFUSED)


def _refuse(error: Exception, code: int) -> int:
    sys.stderr.write(f"stagepost: {masked(str(error))}\n")
    sys.stderr.flush()
    return code


def main() -> NoReturn:
    """Serve, and leave with an exit code that the supervisor understands."""
    given = _arguments(sys.argv[1:])
    die_with(given.supervisor)
    for shared in (given.listener, given.pipe):
        # Handlers' own processes must not keep the port or the pipe open.
        os.set_inheritable(shared, False)
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    settings = from_environment().with_(
        data=given.data, host=given.host, app=given.app, concurrency=given.concurrency
    )
    lines = LogLines(settings.log)
    lines.start()
    _raise_file_limit()
    shared = _Shared(socket.socket(fileno=given.listener), given.pipe, _own_stdout())
    try:
        code = _run(settings, shared)
    except (Exception, SystemExit):  # noqa: BLE001  # another process may do better
        _log.critical("the server has failed", exc_info=True)
        code = REPLACE_ME
    lines.close()
    # A handler that never ends may still hold a thread, which a usual exit would wait for.
    os._exit(code)


if __name__ == "__main__":
    main()
