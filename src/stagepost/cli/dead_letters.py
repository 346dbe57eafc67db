"""`stagepost dead-letters`: what needs a person, sent back or given up."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stagepost.cli.asking import Json, Url, ask
from stagepost.cli.exits import Usage
from stagepost.cli.listing import After, All, Limit, Listing, print_listing, show_rows
from stagepost.cli.output import age, console, money, plain, print_json
from stagepost.cli.rows import Columns
from stagepost.failure import FailureKind
from stagepost.remote import Remote, Where

if TYPE_CHECKING:
    from stagepost.web.dead_letter_schemas import Redrive
    from stagepost.web.schemas import DeadLetter

dead_letters_app = typer.Typer(help="List dead letters, send them back, or give them up.")

TypeName = Annotated[str | None, typer.Option("--type", help="Only of this type.")]
Lane = Annotated[str | None, typer.Option(help="Only of this lane.")]
Kind = Annotated[
    str | None, typer.Option("--kind", help="Only with this failure kind, such as TIMEOUT.")
]
Tag = Annotated[str | None, typer.Option(help="Only with this tag.")]
Ids = Annotated[list[str] | None, typer.Argument(metavar="ID", help="Which; or choose by options.")]

_COLUMNS = Columns(
    ("ID", "TYPE", "KIND", "TRIES", "AGE", "REDRIVE HELPS", "MESSAGE"),
    narrow=("ID", "KIND", "AGE", "TYPE"),
    below=("REDRIVE HELPS",),
)


_KEYS = {"failureKind": "KIND", "type": "TYPE"}


@dead_letters_app.callback(invoke_without_command=True)
def dead_letters(
    context: typer.Context,
    type_name: TypeName = None,
    lane: Lane = None,
    kind: Kind = None,
    tag: Tag = None,
    group_by: Annotated[
        str | None, typer.Option(help="Counts by failureKind, type, or failureKind,type.")
    ] = None,
    limit: Limit = 50,
    after: After = None,
    everything: All = False,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """List the tasks that need a person, newest first."""
    if context.invoked_subcommand is not None:
        return
    where = Where(type=type_name, lane=lane, failure_kind=_kind(kind), tag=tag)
    if group_by:
        _groups(where, group_by, url, as_json=as_json)
        return

    async def page(remote: Remote, limit: int, after: str | None) -> Any:
        return await remote.dead_letters.page(where, limit=limit, after=after)

    listing = Listing(_COLUMNS, _row, page, "No dead letters.")
    print_listing(listing, url, limit=limit, after=after, everything=everything, as_json=as_json)


@dead_letters_app.command()
def redrive(
    ids: Ids = None,
    type_name: TypeName = None,
    lane: Lane = None,
    kind: Kind = None,
    tag: Tag = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="From nothing, not at the saved steps.")
    ] = False,
    from_step: Annotated[
        str | None, typer.Option(help="Before this step; it and all after it run again.")
    ] = None,
    given: Annotated[
        str, typer.Option("--input", help="A corrected input as JSON; starts afresh.")
    ] = "",
    per_minute: Annotated[
        int | None, typer.Option(min=1, max=100_000, help="At most so many a minute.")
    ] = None,
    canary: Annotated[
        int | None, typer.Option(min=1, max=100, help="So many first; on only if none fails again.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Send dead letters back to their lanes; stops by itself when they fail again."""
    body = _chosen(ids, Where(type=type_name, lane=lane, failure_kind=_kind(kind), tag=tag))
    if fresh and from_step:
        raise Usage("Give --fresh or --from-step, not both.")
    if fresh or from_step:
        body["resume"] = {"fromStep": from_step} if from_step else "fresh"
    if given:
        body["input"] = _corrected(given)
    body |= {"dryRun": True} if dry_run else {}
    body |= {"perMinute": per_minute} if per_minute else {}
    body |= {"canary": canary} if canary else {}

    async def work(remote: Remote) -> Any:
        return await remote.dead_letters.redrive(body)

    told = ask(url, work)
    are = "is" if told["matched"] == 1 else "are"
    how = "would be sent back" if dry_run else f"{are} sent back by redrive {told['redriveId']}"
    _print_count(told, how, as_json=as_json)


RedriveId = Annotated[str, typer.Argument(metavar="ID", help="The redrive's id.")]


@dead_letters_app.command(name="redrive-status")
def redrive_status(redrive_id: RedriveId, url: Url = None, as_json: Json = False) -> None:
    """Show how far a redrive is."""

    async def work(remote: Remote) -> "Redrive":
        return await remote.dead_letters.progress(redrive_id)

    _print_redrive(ask(url, work), as_json=as_json)


@dead_letters_app.command(name="redrive-stop")
def redrive_stop(redrive_id: RedriveId, url: Url = None, as_json: Json = False) -> None:
    """Send no further dead letter of a redrive back; what is on its way goes on."""

    async def work(remote: Remote) -> "Redrive":
        return await remote.dead_letters.stop(redrive_id)

    _print_redrive(ask(url, work), as_json=as_json)


def _print_redrive(found: "Redrive", *, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    reason = f": {found['reason']}" if found["reason"] else ""
    console().print(plain(f"{found['state']}{reason}"), soft_wrap=True)
    counts = ("matched", "sent", "completed", "failed")
    told = ", ".join(f"{found[name]} {name}" for name in counts)  # type: ignore[literal-required]
    console().print(told, soft_wrap=True)


@dead_letters_app.command()
def discard(
    ids: Ids = None,
    type_name: TypeName = None,
    lane: Lane = None,
    kind: Kind = None,
    tag: Tag = None,
    reason: Annotated[str, typer.Option(help="Why; it is kept in the history.")] = "",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Give dead letters up; they become CANCELLED."""
    body = _chosen(ids, Where(type=type_name, lane=lane, failure_kind=_kind(kind), tag=tag))
    body["reason"] = reason

    async def work(remote: Remote) -> Any:
        return await remote.dead_letters.discard(body)

    _print_count(ask(url, work), "given up", as_json=as_json)


def _chosen(ids: list[str] | None, where: Where) -> dict[str, Any]:
    conditions = where.conditions()
    if bool(ids) == bool(conditions):
        raise Usage("Name the dead letters by their ids, or choose them by --type, --kind or such.")
    return {"taskIds": ids} if ids else {"filter": conditions}


def _kind(given: str | None) -> str | None:
    if given is None or given.upper() in set(FailureKind):
        return given and given.upper()
    there = ", ".join(FailureKind)
    raise Usage(f'There is no failure kind "{given}"; there are: {there}.')


def _corrected(given: str) -> Any:
    try:
        return json.loads(given)
    except (json.JSONDecodeError, RecursionError) as error:
        raise Usage(f"The input is no JSON ({error}).") from error


def _print_count(answer: Mapping[str, Any], what: str, *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
    else:
        console().print(f"{answer['matched']} {what}", soft_wrap=True)


def _groups(where: Where, by: str, url: str | None, *, as_json: bool) -> None:
    async def work(remote: Remote) -> Any:
        return await remote.dead_letters.groups(where, by)

    groups = ask(url, work)
    if as_json:
        print_json({"items": groups, "next": None})
        return
    keys = [key for key in _KEYS if key in by.split(",")]
    names = (*(_KEYS[key] for key in keys), "COUNT", "OLDEST", "COST OF REDRIVING")
    rows = [
        (*(each[key] for key in keys), each["count"], age(each["oldest"]), _cost(each))
        for each in groups
    ]
    show_rows(Columns(names, narrow=names[:-2]), rows, "No dead letters.")


def _cost(group: Mapping[str, Any]) -> str:
    cost = group["estimatedCost"]
    return "unknown" if cost is None else money(cost)


def _row(letter: "DeadLetter") -> Sequence[object]:
    return (
        letter["taskId"],
        letter["type"],
        letter["failureKind"],
        letter["attempt"],
        age(letter["failedAt"]),
        "yes" if letter["redriveEligible"] else "after a change",
        letter["errorMessage"],
    )
