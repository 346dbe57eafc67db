"""A serving process: the parts of the engine that its arguments name.

Started by the supervisor with what it shares as the last arguments: the listening socket, the pipe
for signs of life, and the supervisor's process id. Without a socket its place is taken by -1.
"""

import argparse
import asyncio
import faulthandler
import io
import logging
import os
import resource
import signal
import socket
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final, NoReturn, TextIO

import uvloop

from stagepost import interpreter
from stagepost.environment import from_environment
from stagepost.errors import StoreRefused
from stagepost.lifeline import die_with
from stagepost.loading import check_lanes, registered
from stagepost.logs import LogLines
from stagepost.masking import masked
from stagepost.part import EVERYTHING, Part, parsed
from stagepost.serve.life import Shared, live
from stagepost.settings import Settings
from stagepost.supervised import REPLACE_ME

_log = logging.getLogger("stagepost.serve")

USAGE: Final = 2
REFUSED: Final = 4
_MOST_FILES: Final = 1_048_576


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="stagepost.serve", description=__doc__)
    parser.add_argument("--parts", type=parsed, default=EVERYTHING)
    parser.add_argument("--lanes")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--host")
    parser.add_argument("--app")
    parser.add_argument("--concurrency", type=int)
    for shared in ("listener", "pipe", "supervisor"):
        parser.add_argument(shared, type=int)
    return parser.parse_args(arguments)


def _settings(given: argparse.Namespace) -> Settings:
    settings = from_environment().with_(
        data=given.data, host=given.host, app=given.app, concurrency=given.concurrency
    )
    return settings if given.lanes is None else settings.serving(given.lanes.split(","))


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


def _run(settings: Settings, parts: Collection[Part], shared: Shared) -> int:
    try:
        app = registered(settings)
        # This process may serve a few of the lanes; others serve the rest.
        check_lanes(app, from_environment())
    except (ValueError, TypeError) as error:
        return _refuse(error, USAGE)
    interpreter.tune()
    runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    try:
        return runner.run(live(settings, app, parts, shared))
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
        if shared >= 0:
            os.set_inheritable(shared, False)
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    settings = _settings(given)
    lines = LogLines(settings.log)
    lines.start()
    _raise_file_limit()
    listener = socket.socket(fileno=given.listener) if given.listener >= 0 else None
    shared = Shared(listener, given.pipe, _own_stdout(), as_json=given.json)
    try:
        code = _run(settings, given.parts, shared)
    except (Exception, SystemExit):  # noqa: BLE001  # another process may do better
        _log.critical("the server has failed", exc_info=True)
        code = REPLACE_ME
    lines.close()
    # A handler that never ends may still hold a thread, which a usual exit would wait for.
    os._exit(code)


if __name__ == "__main__":
    main()
