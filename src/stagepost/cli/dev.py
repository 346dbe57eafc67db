"""`stagepost dev services`: real PostgreSQL and Redis for a developer's shell and the tests."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from stagepost.devservices.catalogue import SERVICES, chosen
from stagepost.devservices.errors import DevServiceError, NotAnswering
from stagepost.devservices.folder import default_folder, open_folder
from stagepost.devservices.lifecycle import Report, Services
from stagepost.devservices.service import Service

EXIT_NOT_REACHABLE = 3
EXIT_REFUSED = 4
_NOT_ON_REDIS = (
    "No engine of this version works on Redis: `stagepost up` refuses to start in a shell that has "
    "read the file below. For the engine on PostgreSQL run postgres alone."
)

dev_app = typer.Typer(no_args_is_help=True, help="Tools for developing with Stagepost.")
services_app = typer.Typer(
    no_args_is_help=True, help="Real services on loopback ports, started without Docker."
)
dev_app.add_typer(services_app, name="services")

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME", help=f"{', '.join(s.name for s in SERVICES)}; none named: all."),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "--dir", envvar="STAGEPOST_SERVICES_DIR", help="Scratch folder of data and passwords."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@services_app.command()
def start(names: Names = None, folder: Folder = None, as_json: Json = False) -> None:
    """Start what does not run; the last line is the path of a file of export lines."""
    wanted = _chosen(names)
    with _one_line_errors():
        services = _services(open_folder(_path(folder)))
        environment = services.start(wanted)
        reports = services.status(wanted)
    _print(reports, {"envFile": str(environment)}, as_json=as_json)
    if not as_json:
        if any(each.name == "redis" and each.answers for each in services.status(SERVICES)):
            typer.echo(_NOT_ON_REDIS, err=True)
        typer.echo(environment)


@services_app.command()
def stop(names: Names = None, folder: Folder = None, as_json: Json = False) -> None:
    """Stop what start has started; the data is kept."""
    wanted = _chosen(names)
    with _one_line_errors():
        services = _services(open_folder(_path(folder)))
        services.stop(wanted)
        reports = services.status(wanted)
    _print(reports, {}, as_json=as_json)


@services_app.command()
def status(names: Names = None, folder: Folder = None, as_json: Json = False) -> None:
    """Say what runs, where, and as which process."""
    wanted = _chosen(names)
    with _one_line_errors():
        reports = _services(_path(folder)).status(wanted)
    _print(reports, {}, as_json=as_json)


def _chosen(names: Sequence[str] | None) -> list[Service]:
    try:
        return chosen(names or [])
    except KeyError as error:
        known = ", ".join(service.name for service in SERVICES)
        raise typer.BadParameter(f"{error.args[0]} is no service; there are: {known}.") from None


def _path(folder: Path | None) -> Path:
    return folder or default_folder(os.environ, Path.home())


def _services(folder: Path) -> Services:
    return Services(folder, SERVICES, notify=lambda line: typer.echo(line, err=True))


@contextmanager
def _one_line_errors() -> Iterator[None]:
    try:
        yield
    except DevServiceError as error:
        typer.echo(f"stagepost: {error}", err=True)
        code = EXIT_NOT_REACHABLE if isinstance(error, NotAnswering) else EXIT_REFUSED
        raise typer.Exit(code) from None


def _print(reports: Sequence[Report], more: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        rows = [asdict(report) for report in reports]
        typer.echo(json.dumps({"services": rows, **more}))
        return
    table = Table("service", "state", "address", "pid", box=None)
    for report in reports:
        state = report.state if report.answers or report.state != "running" else "not answering"
        pid = str(report.pid) if report.pid else ""
        table.add_row(report.name, state, report.address or "", pid)
    Console(file=sys.stdout).print(table)
