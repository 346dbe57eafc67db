"""`stagepost limits`: what the whole fleet may use in a time, or at once."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from stagepost.cli.asking import Json, Url, ask
from stagepost.cli.exits import Usage
from stagepost.cli.listing import show_rows
from stagepost.cli.output import console, duration, print_json
from stagepost.cli.rows import Columns
from stagepost.limit import DEFAULT_WINDOW, Limit
from stagepost.remote import Remote

if TYPE_CHECKING:
    from stagepost.web.fleet_schemas import BudgetLimit, ModelLimit, SharedLimit

limits_app = typer.Typer(help="Show the limits that handlers share, set one, or take one away.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The limit's name.")]

_COLUMNS = Columns(
    ("LIMIT", "ALLOWS", "USED", "HELD", "WAITING", "FROM", "NOW"),
    narrow=("LIMIT", "ALLOWS", "USED", "HELD"),
    below=("WAITING", "FROM"),
)


@limits_app.callback(invoke_without_command=True)
def limits(context: typer.Context, url: Url = None, as_json: Json = False) -> None:
    """Show each limit: what it allows, and how much of it is used now."""
    if context.invoked_subcommand is not None:
        return

    async def work(remote: Remote) -> "list[SharedLimit | ModelLimit | BudgetLimit]":
        return [limit async for limit in remote.fleet.limits()]

    found = ask(url, work)
    if as_json:
        print_json({"items": found, "next": None})
    else:
        show_rows(_COLUMNS, map(_row, found), "No limits.")


@limits_app.command(name="set")
def set_limit(
    name: Name,
    rule: Annotated[
        str,
        typer.Argument(
            metavar="RULE",
            help="100/1m: units in any window of that length; 2: how many at once; 100/1m+2: both.",
        ),
    ],
    burst: Annotated[
        int | None,
        typer.Option(min=1, help="Of a window's units only so many at once, the rest evenly."),
    ] = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Set a limit; it holds in every process within about a second."""
    try:
        limit = Limit.parse(name, rule)
    except ValueError as error:
        raise Usage(str(error)) from error
    body = {
        "units": limit.units,
        "windowSeconds": limit.window,
        "burst": burst,
        "atOnce": limit.at_once,
    }

    async def work(remote: Remote) -> "SharedLimit":
        return await remote.fleet.set_limit(name, body)

    shown = ask(url, work)
    if as_json:
        print_json(shown)
    else:
        console().print(f"limit {name}: {_allows(shown)}", soft_wrap=True)


@limits_app.command()
def remove(name: Name, url: Url = None, as_json: Json = False) -> None:
    """Take a limit away; what waits for it then fails, unless the settings have one of its name."""

    async def work(remote: Remote) -> None:
        await remote.fleet.remove_limit(name)

    ask(url, work)
    if as_json:
        print_json({"name": name, "removed": True})
    else:
        console().print(f"limit {name} is removed", soft_wrap=True)


def _row(limit: "SharedLimit | ModelLimit | BudgetLimit") -> Sequence[object]:
    if limit["source"] == "budgets":
        allows = f"${limit['dollars']:,.2f} a {limit['period']}"
        spent = f"${limit['spent']:,.2f}"
        return limit["name"], allows, spent, "", limit["waiting"], "budgets", ""
    held = limit["held"] if limit["atOnce"] is not None else ""
    if limit["source"] == "models":
        used, allows, now = limit["used"], _lent(limit), _now(limit)
        return limit["name"], allows, used, held, limit["waiting"], "models.toml", now
    used_units = limit["used"] if limit["units"] is not None else ""
    return limit["name"], _allows(limit), used_units, held, limit["waiting"], limit["source"], ""


def _allows(limit: "SharedLimit") -> str:
    window = limit["windowSeconds"] or DEFAULT_WINDOW
    words = Limit(limit["name"], limit["units"], window, None, limit["atOnce"]).words
    burst = limit["burst"]
    return words if burst is None else f"{words}, {burst} of them in a burst"


def _lent(limit: "ModelLimit") -> str:
    units = "as told" if limit["units"] is None else str(limit["units"])
    at_once = "" if limit["atOnce"] is None else f" and {limit['atOnce']} at once"
    return f"{units} in {limit['windowSeconds']:g} s{at_once}"


def _now(limit: "ModelLimit") -> str:
    parts = []
    if limit["most"] is not None and limit["most"] != limit["units"]:
        parts.append(f"{limit['most']} by its provider's word")
    if limit["pace"] < 1:
        parts.append(f"at {limit['pace']:.0%} of its pace")
    if limit["pausedSeconds"] > 0:
        parts.append(f"paused for {duration(limit['pausedSeconds'])}")
    return ", ".join(parts)
