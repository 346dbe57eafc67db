"""`stagepost up`: the API and a worker in one process, under a supervisor."""

import asyncio
import contextlib
import errno
import socket
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from stagepost.cli.asking import environment
from stagepost.cli.exits import Exit, complain
from stagepost.logs import LogLines
from stagepost.masking import masked
from stagepost.settings import Settings
from stagepost.supervisor import Patience, Supervisor, serving_command

_BACKLOG = 2048  # connections that wait while a child is replaced; the kernel may allow fewer
_LAST_WORDS = 30.0  # seconds for the child to end once its worker has drained


def up(
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="The data folder; else STAGEPOST_DATA, else stagepost-data."
        ),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(help="The address to listen on; else STAGEPOST_HOST, else 127.0.0.1."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            max=65_535,
            help="The port to listen on; else STAGEPOST_PORT, else 8080; 0: any free one.",
        ),
    ] = None,
    app: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:APP",
            help="Your own task types, beside the built-in ones; else STAGEPOST_APP.",
        ),
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=10_000,
            help="How many tasks run at once; else STAGEPOST_CONCURRENCY, else 8.",
        ),
    ] = None,
) -> None:
    """Run the server: API and worker in one, started again when it dies."""
    settings = environment().with_(
        data=data, host=host, port=port, app=app, concurrency=concurrency
    )
    try:
        settings.check_exposure()
        listener = _listen(settings)
    except (ValueError, OSError) as error:
        complain(str(error))
        raise typer.Exit(Exit.REFUSED) from error
    raise typer.Exit(_supervise(settings, listener))


def api() -> None:
    """Run the API alone (not with the embedded engine)."""
    _refuse_apart("api")


def worker() -> None:
    """Run a worker alone (not with the embedded engine)."""
    _refuse_apart("worker")


def _refuse_apart(command: str) -> NoReturn:
    store = environment().store or "sqlite"
    if store.partition(":")[0] == "sqlite":
        complain(
            f"The embedded engine lives in one process, so `{command}` can't run apart; "
            "use `stagepost up`."
        )
    else:
        complain(
            f'STAGEPOST_STORE is "{masked(store)}"; this version has sqlite: unset STAGEPOST_STORE '
            "and use `stagepost up`."
        )
    raise typer.Exit(Exit.REFUSED)


def _listen(settings: Settings) -> socket.socket:
    """The listening socket. Raises OSError with one sentence."""
    host = settings.host.strip("[]")
    try:
        found = socket.getaddrinfo(
            host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, _, _, _, address = found[0]
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except OSError as error:
        raise OSError(_not_listening(host, settings.port, error)) from error


def _not_listening(host: str, port: int, error: OSError) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return (
                f"Port {port} on {host} is in use; stop what listens there or choose another "
                "with --port."
            )
        case errno.EACCES:
            return f"Port {port} needs more rights than this user has; choose one above 1023."
        case _:
            return f"{host} can't be listened on ({error.strerror}); choose another with --host."


def _supervise(settings: Settings, listener: socket.socket) -> int:
    host, port = listener.getsockname()[:2]
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    command = serving_command(
        f"--data={settings.data}",
        f"--host={settings.host}",
        f"--app={settings.app}",
        f"--concurrency={settings.concurrency}",
    )
    patience = Patience(silence=settings.stall_after, drain=settings.drain_grace + _LAST_WORDS)

    async def run() -> int:
        return await Supervisor(command, listener, lambda: _announce(address), patience).run()

    lines = LogLines(settings.log)
    lines.start()
    try:
        return asyncio.run(run())
    finally:
        lines.close()


def _announce(address: str) -> None:
    # Whoever started this may have closed the pipe; that is no reason not to serve.
    with contextlib.suppress(OSError):
        sys.stdout.write(f"ready {address}\n")
        sys.stdout.flush()
