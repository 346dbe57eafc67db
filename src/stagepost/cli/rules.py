"""`stagepost lanes`, `types` and `tenants`: what runs, and what an operator says of it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stagepost.cli.asking import Json, Url, ask
from stagepost.cli.exits import Usage
from stagepost.cli.listing import show_rows
from stagepost.cli.output import console, duration, print_json, show, table
from stagepost.cli.rows import Columns
from stagepost.remote import Remote
from stagepost.rules import MOST_CONCURRENCY, MOST_WEIGHT

if TYPE_CHECKING:
    from stagepost.web.fleet_schemas import Lane

lanes_app = typer.Typer(help="Show the lanes, pause, resume, limit or weigh one.")
types_app = typer.Typer(help="Show the task types, pause, resume or limit one.")
tenants_app = typer.Typer(help="Show what was set for tenants, or set it.")

LaneName = Annotated[str, typer.Argument(metavar="LANE", help="Which lane.")]
TypeName = Annotated[str, typer.Argument(metavar="TYPE", help="Which task type.")]
Most = Annotated[
    str, typer.Argument(metavar="N", help="How many of its tasks run at once; none: any number.")
]

_SETTABLE = ("weight", "concurrency", "keyConcurrency")
_TYPES = Columns(("TYPE", "LANE", "AT ONCE", ""), narrow=("TYPE", "LANE", "AT ONCE", ""))
_TENANTS = Columns(
    ("TENANT", "WEIGHT", "AT ONCE", "OF ONE KEY"),
    narrow=("TENANT", "WEIGHT", "AT ONCE", "OF ONE KEY"),
)


@lanes_app.callback(invoke_without_command=True)
def lanes(context: typer.Context, url: Url = None, as_json: Json = False) -> None:
    """Show the lanes: what waits, what runs, how fast."""
    if context.invoked_subcommand is not None:
        return

    async def work(remote: Remote) -> "Sequence[Lane]":
        return await remote.fleet.lanes()

    found = ask(url, work)
    if as_json:
        print_json({"items": found, "next": None})
        return
    columns = ("LANE", "QUEUED", "RUNNING", "WEIGHT", "OLDEST", "IN/MIN", "OUT/MIN", "EMPTY IN", "")
    show(table(columns, map(_lane, found)))


def _lane(lane: "Lane") -> Sequence[object]:
    return (
        lane["name"],
        lane["queued"],
        lane["running"],
        lane["weight"],
        duration(lane["oldestQueuedSeconds"]),
        lane["arrivalsPerMinute"],
        lane["completionsPerMinute"],
        duration(lane["etaSeconds"]),
        _state(lane),
    )


def _state(lane: "Lane") -> str:
    most = lane["concurrency"]
    words = ["paused"] if lane["paused"] else []
    return ", ".join(words if most is None else [*words, f"at most {most} at once"])


@lanes_app.command(name="pause")
def pause_lane(lane: LaneName, url: Url = None, as_json: Json = False) -> None:
    """Start no task of a lane; what runs goes on."""
    _change(f"lanes/{lane}", "pause", url, as_json=as_json)


@lanes_app.command(name="resume")
def resume_lane(lane: LaneName, url: Url = None, as_json: Json = False) -> None:
    """Start the tasks of a lane again."""
    _change(f"lanes/{lane}", "resume", url, as_json=as_json)


@lanes_app.command(name="limit")
def limit_lane(lane: LaneName, most: Most, url: Url = None, as_json: Json = False) -> None:
    """Limit how many tasks of a lane run at once on all workers together."""
    _set(f"lanes/{lane}", {"concurrency": _number(most)}, url, as_json=as_json)


@lanes_app.command(name="weigh")
def weigh_lane(
    lane: LaneName,
    weight: Annotated[
        str, typer.Argument(metavar="N", help="Its share; none: the one of STAGEPOST_LANES.")
    ],
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Give a lane another share of each worker's slots than STAGEPOST_LANES does."""
    _set(f"lanes/{lane}", {"weight": _number(weight)}, url, as_json=as_json)


@types_app.callback(invoke_without_command=True)
def types(context: typer.Context, url: Url = None, as_json: Json = False) -> None:
    """Show the task types: their lanes and limits."""
    if context.invoked_subcommand is not None:
        return
    found = ask(url, lambda remote: _all(remote, "types"))
    if as_json:
        print_json({"items": found, "next": None})
        return
    rows = [
        (rule["name"], rule["lane"], _most(rule["concurrency"]), "paused" if rule["paused"] else "")
        for rule in found
    ]
    show_rows(_TYPES, rows, "No task types.")


@types_app.command(name="pause")
def pause_type(type_name: TypeName, url: Url = None, as_json: Json = False) -> None:
    """Start no task of a type; what runs goes on."""
    _change(f"types/{type_name}", "pause", url, as_json=as_json)


@types_app.command(name="resume")
def resume_type(type_name: TypeName, url: Url = None, as_json: Json = False) -> None:
    """Start the tasks of a type again."""
    _change(f"types/{type_name}", "resume", url, as_json=as_json)


@types_app.command(name="limit")
def limit_type(type_name: TypeName, most: Most, url: Url = None, as_json: Json = False) -> None:
    """Limit how many tasks of a type run at once on all workers together."""
    _put(f"types/{type_name}", {"concurrency": _number(most)}, url, as_json=as_json)


@tenants_app.callback(invoke_without_command=True)
def tenants(context: typer.Context, url: Url = None, as_json: Json = False) -> None:
    """Show the tenants for which something was set."""
    if context.invoked_subcommand is not None:
        return
    found = ask(url, lambda remote: _all(remote, "tenants"))
    if as_json:
        print_json({"items": found, "next": None})
        return
    rows = [
        (rule["tenant"], rule["weight"], _most(rule["concurrency"]), rule["keyConcurrency"])
        for rule in found
    ]
    show_rows(_TENANTS, rows, "Nothing was set for any tenant.")


@tenants_app.command(name="set")
def set_tenant(
    tenant: Annotated[str, typer.Argument(metavar="TENANT", help="Which tenant.")],
    weight: Annotated[
        int | None, typer.Option(min=1, max=MOST_WEIGHT, help="Its share beside the others.")
    ] = None,
    concurrency: Annotated[
        str | None, typer.Option(metavar="N", help="How many of its tasks run at once, or none.")
    ] = None,
    key_concurrency: Annotated[
        int | None,
        typer.Option(
            min=1, max=MOST_CONCURRENCY, help="How many tasks of one concurrency key run at once."
        ),
    ] = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Set a tenant's share of the lanes, and how many of its tasks run at once."""
    given: dict[str, Any] = {}
    if weight is not None:
        given["weight"] = weight
    if concurrency is not None:
        given["concurrency"] = _number(concurrency)
    if key_concurrency is not None:
        given["keyConcurrency"] = key_concurrency
    if not given:
        raise Usage("Say what to set: --weight, --concurrency or --key-concurrency.")

    _set(f"tenants/{tenant}", given, url, as_json=as_json)


def _change(path: str, change: str, url: str | None, *, as_json: bool) -> None:
    _say(ask(url, lambda remote: remote.fleet.rule(path, change=change)), as_json=as_json)


def _set(path: str, given: Mapping[str, Any], url: str | None, *, as_json: bool) -> None:
    async def work(remote: Remote) -> Any:
        earlier = await remote.fleet.rule(path)
        kept = {name: earlier[name] for name in _SETTABLE if name in earlier}
        return await remote.fleet.rule(path, {**kept, **given})

    _say(ask(url, work), as_json=as_json)


def _put(path: str, body: Mapping[str, Any], url: str | None, *, as_json: bool) -> None:
    _say(ask(url, lambda remote: remote.fleet.rule(path, body)), as_json=as_json)


def _say(rule: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(rule)
        return
    words = [f"at once: {_most(rule['concurrency'])}"]
    if rule.get("weight") is not None:
        words = [f"weight {rule['weight']}", *words]
    if "keyConcurrency" in rule:
        words = [*words, f"of one key: {rule['keyConcurrency']}"]
    if rule.get("paused"):
        words = ["paused", *words]
    console().print(f"{rule.get('name', rule.get('tenant'))}: {', '.join(words)}")


async def _all(remote: Remote, kind: str) -> list[Any]:
    return [rule async for rule in remote.fleet.rules(kind)]


def _number(text: str) -> int | None:
    if text == "none":
        return None
    if not (text.isascii() and text.isdigit() and int(text) <= MOST_CONCURRENCY):
        raise Usage(f'"{text}" is no limit; give a number up to {MOST_CONCURRENCY}, or none.')
    return int(text)


def _most(concurrency: int | None) -> str:
    return "any number" if concurrency is None else str(concurrency)
