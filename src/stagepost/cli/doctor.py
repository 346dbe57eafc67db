"""`stagepost doctor`: what is wrong, and how to mend it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from stagepost.cli.asking import Json, Url, ask, environment
from stagepost.cli.exits import Exit
from stagepost.cli.output import plain, print_json, show, table
from stagepost.diagnosis import Finding, Level, examine
from stagepost.remote import Remote

_STYLES: Final = {Level.OK: "green", Level.WARN: "yellow", Level.FAIL: "red"}


def doctor(
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="The data folder.")] = None,
    app: Annotated[
        str | None, typer.Option(metavar="MODULE:APP", help="Your own task types.")
    ] = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Say what is wrong and how to mend it; changes nothing. Exits with 1 when something fails."""
    settings = environment().with_(data=data, app=app)

    async def work(remote: Remote) -> Sequence[Finding]:
        return await examine(settings, remote, expected=bool(url or settings.url))

    findings = ask(url, work)
    worst = max(finding.level for finding in findings)
    if as_json:
        print_json(_document(findings, worst))
    else:
        show(table(("", "", "", ""), map(_row, findings), head=False))
    raise typer.Exit(Exit.ENDED_OTHERWISE if worst is Level.FAIL else Exit.COMPLETED)


def _document(findings: Sequence[Finding], worst: Level) -> object:
    return {
        "worst": worst.word,
        "findings": [
            {
                "check": finding.check,
                "level": finding.level.word,
                "detail": finding.detail,
                "remedy": finding.remedy or None,
            }
            for finding in findings
        ],
    }


def _row(finding: Finding) -> Sequence[object]:
    level = plain(finding.level.word, _STYLES[finding.level])
    return level, finding.check, finding.detail, finding.remedy
