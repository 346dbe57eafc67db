"""`stagepost tasks`, `show` and `cancel`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stagepost.cli.asking import Json, TaskId, Url, ask
from stagepost.cli.exits import Usage
from stagepost.cli.listing import After, All, Limit, Listing, print_listing
from stagepost.cli.output import ago, console, plain, print_json, show, status_text
from stagepost.cli.report import report
from stagepost.cli.saving import save_all
from stagepost.remote import Remote, Where

if TYPE_CHECKING:
    from stagepost.web.schemas import TaskItem, TaskStatus

Reason = Annotated[str, typer.Option(help="Why; it is kept in the task's history.")]

_COLUMNS = ("ID", "TYPE", "STATUS", "%", "LANE", "TRY", "CREATED", "STEP OR FAILURE")


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

    listing = Listing(_COLUMNS, _row, page)
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
    """Show all of a task: where it stands, its steps, failures and artifacts."""
    if save is not None and save.exists() and not save.is_dir():
        raise Usage(f"{save} is no folder; name one for --save.")

    async def work(remote: Remote) -> tuple[Any, list[Any], list[Any], list[Path]]:
        task = await remote.task(task_id)
        steps = [step async for step in remote.steps(task_id)]
        artifacts = [each async for each in remote.artifacts(task_id)]
        saved = await save_all(remote, task, artifacts, save) if save else []
        return task, steps, artifacts, saved

    task, steps, artifacts, saved = ask(url, work)
    if as_json:
        files = [str(path) for path in saved]
        print_json({**task, "steps": steps, "artifacts": artifacts, "saved": files})
    else:
        show(*report(task, steps, artifacts), *(plain(f"saved {path}") for path in saved))


def cancel(
    task_id: TaskId,
    reason: Reason = "",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Cancel a task; one that runs is asked to stop."""

    async def work(remote: Remote) -> "TaskStatus":
        return await remote.cancel(task_id, reason)

    status = ask(url, work)
    if as_json:
        print_json(status)
    elif status["status"] == "CANCELLED":
        console().print(f"task {task_id} is cancelled")
    else:
        console().print(f"task {task_id} is asked to stop ({status['status'].lower()})")


def _row(task: "TaskItem") -> Sequence[object]:
    return (
        task["taskId"],
        task["type"],
        status_text(task["status"]),
        task["progress"],
        task["lane"],
        f"{task['attempt']}/{task['maxAttempts']}",
        ago(task["createdAt"]),
        task["errorMessage"] or task["currentStep"],
    )
