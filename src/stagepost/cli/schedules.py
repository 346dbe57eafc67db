"""`stagepost schedules`: tasks that are submitted again and again."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stagepost.cli.asking import Json, Url, ask, check_instants
from stagepost.cli.exits import Usage, usage
from stagepost.cli.given import given_input
from stagepost.cli.listing import After, All, Limit, Listing, print_listing, show_rows
from stagepost.cli.output import console, local_time, plain, print_json, show, table
from stagepost.cli.rows import Columns
from stagepost.cli.waits import waiting_text
from stagepost.remote import Remote
from stagepost.retry import seconds
from stagepost.schedule import Misfire, Overlap

if TYPE_CHECKING:
    from stagepost.web.schedule_shapes import Backfilled, LastRun, ScheduleItem

schedules_app = typer.Typer(
    no_args_is_help=True, help="Submit tasks again and again: by cron, at an interval, or once."
)

ScheduleId = Annotated[str, typer.Argument(metavar="ID", help="The schedule's id.")]
Zone = Annotated[str, typer.Option(help="The cron expression's time zone, an IANA name.")]
From = Annotated[str | None, typer.Option("--from", help="From this instant on.")]
To = Annotated[str | None, typer.Option("--to", help="Before this instant.")]

Cron = Annotated[
    str | None, typer.Option(help='Minute hour day month weekday, such as "30 2 * * MON-FRI".')
]
Every = Annotated[str | None, typer.Option(help="An interval: seconds, or such as 15m or 24h.")]
At = Annotated[
    str | None, typer.Option(help="Once, at this instant, such as 2026-01-31T08:00:00Z.")
]
Given = Annotated[str, typer.Option("--input", help="The input: JSON, @FILE, or - for stdin.")]
Lane = Annotated[str | None, typer.Option(help="Another lane than the type's own.")]
OverlapPolicy = Annotated[
    Overlap,
    typer.Option(
        metavar="POLICY",
        help="While the run before goes on: skip, queue, or cancelOld to cancel that one.",
    ),
]
MisfirePolicy = Annotated[
    Misfire,
    typer.Option(
        metavar="POLICY",
        help="Of runs missed while no process was there, make up none (skip), once or all.",
    ),
]
Jitter = Annotated[int, typer.Option(min=0, help="Start each run up to so many seconds later.")]

_COLUMNS = Columns(
    ("ID", "NAME", "TYPE", "STATE", "NEXT RUN", "WHEN"),
    narrow=("ID", "STATE", "NAME"),
    below=("TYPE", "NEXT RUN"),
)
_RUNS = Columns(("PLANNED", "LOCAL TIME"), narrow=("PLANNED",))


@schedules_app.command(name="list")
def list_schedules(
    limit: Limit = 50,
    after: After = None,
    everything: All = False,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """List schedules, oldest first."""

    async def page(remote: Remote, limit: int, after: str | None) -> Any:
        return await remote.schedules.page(limit=limit, after=after)

    listing = Listing(_COLUMNS, _row, page, "No schedules.")
    print_listing(listing, url, limit=limit, after=after, everything=everything, as_json=as_json)


@schedules_app.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is for.")],
    type_name: Annotated[str, typer.Argument(metavar="TYPE", help="The task type.")],
    cron: Cron = None,
    every: Every = None,
    at: At = None,
    timezone: Zone = "UTC",
    given: Given = "",
    lane: Lane = None,
    overlap: OverlapPolicy = Overlap.SKIP,
    misfire: MisfirePolicy = Misfire.SKIP,
    jitter: Jitter = 0,
    paused: Annotated[bool, typer.Option("--paused", help="Begin it paused.")] = False,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Begin a schedule; give one of --cron, --every and --at."""
    body = {
        "name": name,
        "type": type_name,
        **_timing(cron, every, at),
        "timezone": timezone,
        "overlap": overlap.value,
        "misfire": misfire.value,
        "jitterSeconds": jitter,
        "paused": paused,
    }
    value = given_input(given)
    body |= {} if value is None else {"input": value}
    body |= {} if lane is None else {"lane": lane}
    _print(ask(url, lambda remote: remote.schedules.create(body)), as_json=as_json)


@schedules_app.command(name="show")
def show_schedule(schedule_id: ScheduleId, url: Url = None, as_json: Json = False) -> None:
    """Show a schedule and its next runs."""
    _print(ask(url, lambda remote: remote.schedules.show(schedule_id)), as_json=as_json)


@schedules_app.command()
def pause(schedule_id: ScheduleId, url: Url = None, as_json: Json = False) -> None:
    """Pause a schedule; what it misses meanwhile is not made up."""
    _set_paused(schedule_id, url, paused=True, as_json=as_json)


@schedules_app.command()
def resume(schedule_id: ScheduleId, url: Url = None, as_json: Json = False) -> None:
    """Let a paused schedule go on with its next run."""
    _set_paused(schedule_id, url, paused=False, as_json=as_json)


@schedules_app.command()
def delete(schedule_id: ScheduleId, url: Url = None, as_json: Json = False) -> None:
    """End a schedule; tasks that it has submitted go on, runs that wait are dropped."""
    ask(url, lambda remote: remote.schedules.remove(schedule_id))
    if as_json:
        print_json({"scheduleId": schedule_id, "deleted": True})
    else:
        console().print(f"schedule {schedule_id} is ended")


@schedules_app.command()
def backfill(
    schedule_id: ScheduleId,
    start: From = None,
    end: To = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Make up the runs of a past range that had none, one after the other."""
    check_instants(**{"from": start, "to": end})
    if start is None or end is None:
        raise Usage("Say which range: --from INSTANT --to INSTANT.")
    begin, stop = start, end

    async def work(remote: Remote) -> tuple["Backfilled", bool]:
        made = await remote.schedules.backfill(schedule_id, begin, stop)
        paused = not as_json and (await remote.schedules.show(schedule_id))["paused"]
        return made, paused

    made, paused = ask(url, work)
    if as_json:
        print_json(made)
    else:
        console().print(_made_up(made["matched"], paused=paused))


@schedules_app.command()
def preview(
    cron: Annotated[
        str, typer.Argument(metavar="CRON", help='Such as "30 2 * * MON-FRI", in quotes.')
    ],
    timezone: Zone = "UTC",
    start: From = None,
    end: To = None,
    limit: Limit = 10,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Print when a cron expression would run."""
    check_instants(**{"from": start, "to": end})
    page = ask(url, lambda remote: remote.schedules.preview(cron, timezone, start, end, limit))
    if as_json:
        print_json(page)
    else:
        show_rows(_RUNS, [_run(each, timezone) for each in page["items"]], "No runs.")
        # Without an end there are always more.
        if end is not None and page["next"] is not None:
            more = f"there are more: --limit N up to 200, or --from {page['next']}"
            console(err=True).print(more, soft_wrap=True)


def _made_up(many: int, *, paused: bool) -> str:
    if paused and many:
        return f"{_waiting(many)}; the schedule is paused, and nothing starts until it is resumed"
    return f"{many} run is made up" if many == 1 else f"{many} runs are made up"


def _waiting(many: int) -> str:
    return f"{many} run waits" if many == 1 else f"{many} runs wait"


def _timing(cron: str | None, every: str | None, at: str | None) -> dict[str, Any]:
    check_instants(at=at)
    timings = {"cron": cron, "everySeconds": _interval(every), "at": at}
    given = {name: value for name, value in timings.items() if value is not None}
    if len(given) != 1:
        raise Usage("Give exactly one of --cron, --every and --at.")
    return given


def _interval(every: str | None) -> int | None:
    if every is None:
        return None
    with usage():
        length = float(every) if every.isdecimal() else seconds(every)
    if length < 1 or length % 1:
        raise Usage("An interval has whole seconds, 1 at least.")
    return int(length)


def _set_paused(schedule_id: str, url: str | None, *, paused: bool, as_json: bool) -> None:
    body = {"paused": paused}
    _print(ask(url, lambda remote: remote.schedules.change(schedule_id, body)), as_json=as_json)


def _print(schedule: "ScheduleItem", *, as_json: bool) -> None:
    if as_json:
        print_json(schedule)
        return
    facts = [("schedule", schedule["scheduleId"]), *_facts(schedule)]
    runs = [_run(each, schedule["timezone"]) for each in schedule["nextRuns"]]
    following = table(_RUNS.names, runs) if runs else plain("It has no next run.")
    show(table(("", ""), facts, head=False), plain(""), following)


def _facts(schedule: "ScheduleItem") -> Sequence[tuple[str, object]]:
    last, skipped, held = schedule["lastRun"], schedule["lastSkipped"], schedule["held"]
    facts: list[tuple[str, object]] = [
        ("name", schedule["name"]),
        ("type", f"{schedule['type']} in lane {schedule['lane']}"),
        ("when", _when(schedule)),
        ("overlap", schedule["overlap"]),
        ("misfire", schedule["misfire"]),
        ("state", _state(schedule)),
    ]
    if schedule["jitterSeconds"]:
        facts.append(("jitter", f"up to {schedule['jitterSeconds']} s"))
    if last is not None:
        facts.append(("last run", f"{last['plannedAt']} task {last['taskId']}"))
        facts.append(("its task", _standing(last)))
    if held is not None:
        facts.append(("held up", f"since {held['since']}: {held['detail']}"))
    if skipped is not None:
        facts.append(("left out", f"{skipped['plannedAt']}: {skipped['detail']}"))
    return facts


def _standing(last: "LastRun") -> str:
    """How the task of the last run stands, and what holds it up."""
    status, why = last["status"] or "not kept any more", waiting_text(last["waitingFor"])
    return f"{status}: {why}" if why else status


def _when(schedule: "ScheduleItem") -> str:
    if schedule["cron"] is not None:
        return f"{schedule['cron']} ({schedule['timezone']})"
    if schedule["everySeconds"] is not None:
        return f"every {schedule['everySeconds']} s"
    return f"once, at {schedule['at']}"


def _state(schedule: "ScheduleItem") -> str:
    word = "paused" if schedule["paused"] else "active" if schedule["nextRuns"] else "over"
    waiting, held = schedule["waitingRuns"], schedule["held"]
    if not waiting:
        return word
    return f"{word}, {_waiting(waiting)}{' for the quota' if held is not None else ''}"


def _row(schedule: "ScheduleItem") -> Sequence[object]:
    following = schedule["nextRuns"][0] if schedule["nextRuns"] else None
    return (
        schedule["scheduleId"],
        schedule["name"],
        schedule["type"],
        _state(schedule),
        None if schedule["paused"] else following,
        _when(schedule),
    )


def _run(instant: str, zone: str) -> Sequence[object]:
    return (instant, local_time(instant, zone))
