"""What the serving commands share: the listening socket, the supervisor, the line `ready`."""

import asyncio
import contextlib
import errno
import json
import socket
import sys
from collections.abc import Collection, Sequence
from typing import Final

import typer

from stagepost.cli.exits import Exit, complain
from stagepost.logs import LogLines
from stagepost.part import Part, written
from stagepost.settings import Settings
from stagepost.supervisor import Patience, Supervisor, serving_command

_BACKLOG: Final = 2048  # connections that wait while a child is replaced; the kernel may allow less
_LAST_WORDS: Final = 30.0  # seconds for the child to end once its worker has drained


def refuse(error: Exception) -> typer.Exit:
    """What can't be served, in one line; to be raised."""
    complain(str(error))
    return typer.Exit(Exit.REFUSED)


def listen(host: str, port: int, options: str = "--host, --port") -> socket.socket:
    """The listening socket. Raises OSError with one sentence; `options` are named in it."""
    bare = host.strip("[]")
    try:
        found = socket.getaddrinfo(bare, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except OSError as error:
        raise OSError(_not_listening(bare, port, error, options)) from error


def _not_listening(host: str, port: int, error: OSError, options: str) -> str:
    at_host, _, at_port = options.partition(", ")
    match error.errno:
        case errno.EADDRINUSE:
            return (
                f"Port {port} on {host} is in use; stop what listens there or choose another "
                f"with {at_port or at_host}."
            )
        case errno.EACCES:
            return f"Port {port} needs more rights than this user has; choose one above 1023."
        case _:
            return f"{host} can't be listened on ({error.strerror}); choose another with {at_host}."


def address(listener: socket.socket) -> str:
    """As a URL."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def supervise(
    settings: Settings,
    parts: Collection[Part],
    listener: socket.socket | None,
    ready: str,
    *more: str,
    as_json: bool,
) -> int:
    """Keep a process with these parts alive until told to stop; `ready` is said on stdout once.

    `more` are arguments of the process beside the settings.
    """
    form = ("--json",) if as_json else ()
    command = serving_command(f"--parts={written(parts)}", *_arguments(settings), *form, *more)
    line = json.dumps({"ready": ready}) if as_json else f"ready {ready}"
    patience = Patience(silence=settings.stall_after, drain=settings.drain_grace + _LAST_WORDS)

    async def run() -> int:
        return await Supervisor(command, listener, lambda: _announce(line), patience).run()

    lines = LogLines(settings.log)
    lines.start()
    try:
        return asyncio.run(run())
    finally:
        lines.close()


def _arguments(settings: Settings) -> Sequence[str]:
    # No address of a store or bus: others can read a command line, and it may hold a password.
    return (
        f"--data={settings.data}",
        f"--host={settings.host}",
        f"--app={settings.app}",
        f"--concurrency={settings.concurrency}",
    )


def _announce(line: str) -> None:
    # Whoever started this may have closed the pipe; that is no reason not to serve.
    with contextlib.suppress(OSError):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
