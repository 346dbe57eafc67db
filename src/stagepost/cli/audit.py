"""`stagepost audit`: whether the ledger is as it was sealed."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TextIO

import typer

from stagepost.adapters import anchor_file, seal_reading
from stagepost.auditing import Chain, Report, verify
from stagepost.cli.asking import Json, environment
from stagepost.cli.exits import Exit, Usage
from stagepost.cli.output import cleaned, console, print_json
from stagepost.settings import Settings

audit_app = typer.Typer(no_args_is_help=True, help="Verify the ledger of model calls.")


@audit_app.callback()
def _audit() -> None:
    """What holds for all of its commands."""


@audit_app.command(name="verify")
def verify_ledger(
    tenant: Annotated[str | None, typer.Option(help="Only this tenant's calls.")] = None,
    anchor: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The anchor; else STAGEPOST_AUDIT_ANCHOR if that is a file."
        ),
    ] = None,
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="The data folder.")] = None,
    as_json: Json = False,
) -> None:
    """Compare every sealed call with its seal, and the seals with the anchor; changes nothing.

    Reads the store itself, beside a server or without one. Exits with 1 when something is wrong.
    """
    settings = environment().with_(data=data)
    file = anchor or anchor_file(settings)
    report = asyncio.run(_verified(settings, tenant, file))
    if as_json:
        print_json(_document(report))
    else:
        console().print("\n".join(_lines(report, settings)), soft_wrap=True)
    raise typer.Exit(Exit.COMPLETED if report.sound else Exit.ENDED_OTHERWISE)


async def _verified(settings: Settings, tenant: str | None, file: Path | None) -> Report:
    async with seal_reading(settings) as reading:
        if file is None:
            return await verify(reading, tenant)
        with _opened(file) as lines:
            return await verify(reading, tenant, lines)


@contextmanager
def _opened(file: Path) -> Iterator[TextIO]:
    try:
        with file.open(encoding="utf-8", errors="replace", newline="\n") as lines:
            yield lines
    except OSError as error:
        raise Usage(f"The anchor {file} can't be read ({error.strerror}).") from error


def _lines(report: Report, settings: Settings) -> Iterator[str]:
    for fault in report.faults:
        yield f"{fault.kind}: {cleaned(fault.text)}"
    if report.more:
        yield f"{report.more} more faults are not listed."
    for tenant, chain in sorted(report.chains.items()):
        yield cleaned(f"{tenant}: {_told(chain, anchored=report.anchored)}")
    if not report.chains:
        yield "Nothing has been sealed yet."
    if not report.anchored:
        yield _unanchored(settings)
    elif report.sound:
        yield "The ledger is as it was sealed, and as the anchor holds it."


def _told(chain: Chain, *, anchored: bool) -> str:
    parts = [f"{chain.entries} entries in {chain.seals} seals"]
    if chain.gone:
        parts.append(f"{chain.gone} calls have gone with their task's tombstone")
    if anchored:
        parts.append(f"{chain.anchored} seals in the anchor")
    if chain.unsent and anchored:
        parts.append(f"{chain.unsent} not sent to it yet")
    if chain.waiting:
        parts.append(f"{chain.waiting} entries are not sealed yet")
    return ", ".join(parts)


def _unanchored(settings: Settings) -> str:
    found = "Sealed inside the store only" if not settings.audit_anchor else "No anchor file given"
    remedy = (
        "set STAGEPOST_AUDIT_ANCHOR"
        if not settings.audit_anchor
        else "name the file that the webhook's receiver keeps with --anchor"
    )
    return f"{found}: a cut tail, or seals that were all made anew, can't be found; {remedy}."


def _document(report: Report) -> object:
    return {
        "sound": report.sound,
        "anchored": report.anchored,
        "faults": [fault._asdict() for fault in report.faults],
        "more": report.more,
        "tenants": [
            {"tenant": tenant, **_counts(chain)} for tenant, chain in sorted(report.chains.items())
        ],
    }


_COUNTS: Sequence[str] = ("seals", "entries", "gone", "waiting", "unsent", "anchored")


def _counts(chain: Chain) -> dict[str, int]:
    return {name: getattr(chain, name) for name in _COUNTS}
