"""`stagepost up`, `api`, `worker`, `maintenance`: the engine in one process, or its parts apart."""

import socket
from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from stagepost.addresses import host_and_port
from stagepost.cli.asking import Json, environment
from stagepost.cli.exits import usage
from stagepost.cli.serving import address, listen, refuse, supervise
from stagepost.part import EVERYTHING, Part
from stagepost.settings import Settings

Host = Annotated[
    str | None,
    typer.Option(help="The address to listen on; else STAGEPOST_HOST, else 127.0.0.1."),
]
Port = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=0,
        max=65_535,
        help="The port to listen on; else STAGEPOST_PORT, else 8080; 0: any free one.",
    ),
]
AppName = Annotated[
    str | None,
    typer.Option(
        metavar="MODULE:APP",
        help="Your own task types, beside the built-in ones; else STAGEPOST_APP.",
    ),
]
Concurrency = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        max=10_000,
        help="How many tasks run at once; else STAGEPOST_CONCURRENCY, else 8.",
    ),
]
Probe = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT", help="Answer /healthz, /readyz and /metrics here; port 0: any free."
    ),
]


def up(
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="The data folder; else STAGEPOST_DATA, else stagepost-data."
        ),
    ] = None,
    host: Host = None,
    port: Port = None,
    app: AppName = None,
    concurrency: Concurrency = None,
    as_json: Json = False,
) -> None:
    """Run the server: API and worker in one, started again when it dies."""
    settings = environment().with_(
        data=data, host=host, port=port, app=app, concurrency=concurrency
    )
    raise typer.Exit(_serve_api(settings, EVERYTHING, as_json=as_json))


def api(host: Host = None, port: Port = None, app: AppName = None, as_json: Json = False) -> None:
    """Run the API alone, beside workers on the same PostgreSQL."""
    settings = environment().with_(host=host, port=port, app=app)
    _check_apart(settings, "api")
    raise typer.Exit(_serve_api(settings, frozenset({Part.API}), as_json=as_json))


def worker(
    app: AppName = None,
    lanes: Annotated[
        str | None,
        typer.Option(metavar="LANE,...", help="Only these lanes of STAGEPOST_LANES."),
    ] = None,
    concurrency: Concurrency = None,
    maintenance: Annotated[
        bool,
        typer.Option(
            "--maintenance/--no-maintenance",
            help="Also run the maintenance loops, as each worker does unless told otherwise.",
        ),
    ] = True,
    probe: Probe = None,
    as_json: Json = False,
) -> None:
    """Run a worker alone, on the same PostgreSQL as the API."""
    settings = environment().with_(app=app, concurrency=concurrency, probe=probe)
    _check_apart(settings, "worker")
    parts = {Part.WORKER, Part.MAINTENANCE} if maintenance else {Part.WORKER}
    chosen = [name.strip() for name in (lanes or "").split(",") if name.strip()]
    with usage():
        if lanes is not None:
            settings.serving(chosen)
    more = () if lanes is None else (f"--lanes={','.join(chosen)}",)
    raise typer.Exit(_serve_probed(settings, parts, "worker", *more, as_json=as_json))


def maintenance(probe: Probe = None, as_json: Json = False) -> None:
    """Run the maintenance loops alone, for workers with --no-maintenance."""
    settings = environment().with_(probe=probe)
    _check_apart(settings, "maintenance")
    raise typer.Exit(_serve_probed(settings, {Part.MAINTENANCE}, "maintenance", as_json=as_json))


def _check_apart(settings: Settings, command: str) -> None:
    try:
        settings.check_apart(command)
    except ValueError as error:
        raise refuse(error) from error


def _serve_api(settings: Settings, parts: Collection[Part], *, as_json: bool) -> int:
    try:
        settings.check_exposure()
        listener = listen(settings.host, settings.port)
    except (ValueError, OSError) as error:
        raise refuse(error) from error
    return supervise(settings, parts, listener, address(listener), as_json=as_json)


def _serve_probed(
    settings: Settings, parts: Collection[Part], name: str, *more: str, as_json: bool
) -> int:
    listener = _probe(settings.probe)
    ready = name if listener is None else f"{name} {address(listener)}"
    return supervise(settings, parts, listener, ready, *more, as_json=as_json)


def _probe(text: str) -> socket.socket | None:
    if not text:
        return None
    with usage():
        host, port = host_and_port(text)
    try:
        return listen(host, port, "--probe")
    except OSError as error:
        raise refuse(error) from error
