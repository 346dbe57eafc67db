"""`stagepost tasks`, `show`, `events` and `cancel`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stagepost.cli.asking import Json, TaskId, Url, ask, check_instants
from stagepost.cli.exits import Usage
from stagepost.cli.listing import After, All, Limit, Listing, print_listing, show_rows
from stagepost.cli.output import age, console, plain, print_json, show, status_text
from stagepost.cli.report import report
from stagepost.cli.rows import Columns
from stagepost.cli.saving import save_all
from stagepost.cli.waits import failed_text, moment, waiting_text
from stagepost.cli.watch import with_url
from stagepost.remote import Remote, Where

if TYPE_CHECKING:
    from stagepost.web.dead_letter_schemas import Matched
    from stagepost.web.schemas import TaskEvent, TaskItem, TaskStatus

Reason = Annotated[str, typer.Option(help="Why; it is kept in the task's history.")]

_COLUMNS = Columns(
    ("ID", "TYPE", "STATUS", "%", "LANE", "TRY", "AGE", "STEP, FAILURE OR WAIT"),
    narrow=("ID", "STATUS", "%", "AGE", "TYPE"),
)


_EVENTS = Columns(("SEQ", "TIME", "EVENT", ""), narrow=("SEQ", "TIME", "EVENT"))
_LONG = frozenset({"result"})


def tasks(
    status: Annotated[
        list[str] | None, typer.Option(help="Only with this status; may be repeated.")
    ] = None,
    type_name: Annotated[str | None, typer.Option("--type", help="Only of this type.")] = None,
    lane: Annotated[str | None, typer.Option(help="Only of this lane.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only with this tag.")] = None,
    user: Annotated[str | None, typer.Option(help="Only of this user.")] = None,
    created_after: Annotated[
        str | None, typer.Option(help="Only younger, such as 2026-01-31T08:00:00Z.")
    ] = None,
    created_before: Annotated[str | None, typer.Option(help="Only older.")] = None,
    limit: Limit = 50,
    after: After = None,
    everything: All = False,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """List tasks, newest first."""
    check_instants(created_after=created_after, created_before=created_before)
    where = Where(
        status=tuple(word.upper().replace("-", "_") for word in status or ()),
        type=type_name,
        lane=lane,
        tag=tag,
        user=user,
        created_after=created_after,
        created_before=created_before,
    )

    async def page(remote: Remote, limit: int, after: str | None) -> Any:
        return await remote.page_of_tasks(where, limit=limit, after=after)

    listing = Listing(_COLUMNS, _row, page, "No tasks.")
    print_listing(listing, url, limit=limit, after=after, everything=everything, as_json=as_json)


def show_task(
    task_id: TaskId,
    save: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the result and the artifacts into this folder."),
    ] = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Show all of a task: where it stands, its steps, calls to models, failures and artifacts."""
    if save is not None and save.exists() and not save.is_dir():
        raise Usage(f"{save} is no folder; name one for --save.")

    async def work(
        remote: Remote,
    ) -> tuple[Any, list[Any], list[Any], list[Any], list[Path], Any, str]:
        task = await remote.task(task_id)
        steps = [step async for step in remote.steps(task_id)]
        calls = [call async for call in remote.spending.calls(task_id)]
        artifacts = [each async for each in remote.artifacts(task_id)]
        saved = await save_all(remote, task, artifacts, save) if save else []
        end = await _end(remote, task_id) if task["status"] == "CANCELLED" else None
        listed = "" if as_json else await _listed(remote, task, url)
        return task, steps, calls, artifacts, saved, end, listed

    task, steps, calls, artifacts, saved, end, listed = ask(url, work)
    if as_json:
        files = [str(path) for path in saved]
        parts = {"steps": steps, "calls": calls, "artifacts": artifacts}
        print_json({**task, **parts, "saved": files, "cancelled": end})
    else:
        parts_shown = report(task, steps, artifacts, calls, end, listed)
        show(*parts_shown, *(plain(f"saved {path}") for path in saved))


async def _listed(remote: Remote, task: Any, url: str | None) -> str:
    """The command that lists what a task has started; none for one that has started nothing."""
    task_id = task["taskId"]
    # A batch has it from its first moment on.
    started = (await remote.page_of_batch(task_id, limit=1))["counts"]
    if task["type"] != "batch" and not started:
        return ""
    return f"stagepost batches show {task_id}{with_url(url)}"


async def _end(remote: Remote, task_id: str) -> Any:
    ends = [each["data"] async for each in remote.events(task_id) if each["event"] == "cancelled"]
    return ends[-1] if ends else None


def events(task_id: TaskId, url: Url = None, as_json: Json = False) -> None:
    """Show a task's history: every event with its time and what it says."""

    async def work(remote: Remote) -> list[Any]:
        return [event async for event in remote.events(task_id)]

    found = ask(url, work)
    if as_json:
        print_json({"items": found, "next": None})
    else:
        show_rows(_EVENTS, map(_event, found), "No events.")


def _event(event: "TaskEvent") -> Sequence[object]:
    data = ", ".join(
        f"{name} {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in event["data"].items()
        if value is not None and value != "" and name not in _LONG
    )
    return event["seq"], moment(event["timestamp"]), event["event"], data


def cancel(
    task_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The task; or choose many by options.")
    ] = None,
    status: Annotated[
        list[str] | None, typer.Option(help="Those with this status; may be repeated.")
    ] = None,
    type_name: Annotated[str | None, typer.Option("--type", help="Those of this type.")] = None,
    lane: Annotated[str | None, typer.Option(help="Those of this lane.")] = None,
    tag: Annotated[str | None, typer.Option(help="Those with this tag.")] = None,
    user: Annotated[str | None, typer.Option(help="Those of this user.")] = None,
    reason: Reason = "",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Cancel a task, or all that options choose; those that run are asked to stop."""
    words = tuple(word.upper() for word in status or ())
    where = Where(status=words, type=type_name, lane=lane, tag=tag, user=user)
    if bool(task_id) == bool(where.conditions()):
        raise Usage("Name the task by its id, or choose tasks by --type, --tag or such.")
    if task_id:
        _cancel_one(task_id, reason, url, as_json=as_json)
    else:
        _cancel_many(where, reason, url, as_json=as_json)


def _cancel_many(where: Where, reason: str, url: str | None, *, as_json: bool) -> None:
    async def work(remote: Remote) -> "Matched":
        return await remote.cancel_many(where, reason)

    matched = ask(url, work)
    if as_json:
        print_json(matched)
    else:
        console().print(f"{matched['matched']} to be cancelled")


def _cancel_one(task_id: str, reason: str, url: str | None, *, as_json: bool) -> None:
    async def work(remote: Remote) -> "TaskStatus":
        return await remote.cancel(task_id, reason)

    status = ask(url, work)
    if as_json:
        print_json(status)
    elif status["status"] == "CANCELLED":
        console().print(f"task {task_id} is cancelled")
    else:
        console().print(f"task {task_id} is asked to stop ({status['status'].lower()})")


def _last(task: "TaskItem") -> str | None:
    match task["status"]:
        case "FAILED":
            return failed_text(task)
        case "DEAD_LETTER":
            return task["errorMessage"]
        case "COMPLETED" | "CANCELLED":
            return None
        case _:
            return waiting_text(task["waitingFor"]) or task["currentStep"]


def _row(task: "TaskItem") -> Sequence[object]:
    return (
        task["taskId"],
        task["type"],
        status_text(task["status"]),
        task["progress"],
        task["lane"],
        f"{task['attempt']}/{task['maxAttempts']}",
        age(task["createdAt"]),
        _last(task),
    )
