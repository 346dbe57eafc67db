"""`stagepost batches`: many inputs of one type as one task."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stagepost.cli.asking import Json, TaskId, Url, ask
from stagepost.cli.exits import usage
from stagepost.cli.listing import After, All, Limit, Listing, print_listing
from stagepost.cli.output import age, console, json_text, print_json
from stagepost.cli.rows import Columns
from stagepost.cli.watch import finish, followed, going_on, with_url
from stagepost.remote import Remote, Where

if TYPE_CHECKING:
    from stagepost.web.schemas import AcceptedBatch, Child, TaskItem, TaskStatus

batches_app = typer.Typer(help="Many inputs of one type as one task.")

TypeName = Annotated[str, typer.Argument(metavar="TYPE", help="The inputs' task type.")]
Inputs = Annotated[
    Path, typer.Argument(metavar="FILE", help="JSON Lines: one input a line; empty lines are none.")
]
Lane = Annotated[str | None, typer.Option(help="Another lane than the type's own.")]
Stop = Annotated[
    bool, typer.Option("--stop", help="Fail with the first that fails, not after all have ended.")
]
Key = Annotated[
    str | None, typer.Option(help="The same key and content never make a second batch.")
]
Watch = Annotated[
    bool, typer.Option("--watch", help="Watch it until it ends; the exit code says how.")
]

_COLUMNS = Columns(
    ("INDEX", "ID", "STATUS", "KIND", "RESULT OR MESSAGE"),
    narrow=("INDEX", "STATUS", "RESULT OR MESSAGE"),
    below=("ID", "KIND"),
)
_BATCHES = Columns(("ID", "STATUS", "DONE", "NOW", "AGE"), narrow=("ID", "STATUS", "DONE"))
_SHOWN = 200  # characters of a result


@batches_app.callback(invoke_without_command=True)
def batches(
    context: typer.Context,
    limit: Limit = 50,
    after: After = None,
    everything: All = False,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """List batches, newest first."""
    if context.invoked_subcommand is not None:
        return

    async def page(remote: Remote, limit: int, after: str | None) -> Any:
        return await remote.page_of_tasks(Where(type="batch"), limit=limit, after=after)

    listing = Listing(_BATCHES, _batch, page, "No batches.")
    print_listing(listing, url, limit=limit, after=after, everything=everything, as_json=as_json)


@batches_app.command()
def submit(
    type_name: TypeName,
    file: Inputs,
    lane: Lane = None,
    stop: Stop = False,
    idempotency_key: Key = None,
    watch: Watch = False,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Submit a task for each line of a file, all as one."""

    async def work(remote: Remote) -> "AcceptedBatch":
        with usage():
            return await remote.submit_batch(
                type_name, file, lane, "stop" if stop else "collect", idempotency_key
            )

    accepted = ask(url, work)
    if watch:
        _watch(accepted, url, as_json=as_json)
    elif as_json:
        print_json(accepted)
    else:
        out, task_id = console(), accepted["taskId"]
        out.print(f"batch {task_id} of {accepted['count']} tasks ({accepted['status'].lower()})")
        out.print(f"watch it: stagepost watch {task_id}{with_url(url)}", soft_wrap=True)
        out.print(f"its tasks: stagepost batches show {task_id}{with_url(url)}", soft_wrap=True)


@batches_app.command()
def show(
    task_id: TaskId,
    limit: Limit = 50,
    after: After = None,
    everything: All = False,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Show how a batch's tasks stand, and their results, in input order."""

    async def page(remote: Remote, limit: int, after: str | None) -> Any:
        return await remote.page_of_batch(task_id, limit=limit, after=after)

    if not as_json:
        counts = ask(url, lambda remote: page(remote, 1, None))["counts"]
        told = ", ".join(f"{many} {status}" for status, many in sorted(counts.items()))
        console().print(told or "none has been started yet")
    listing = Listing(_COLUMNS, _row, page, "No tasks yet.")
    print_listing(listing, url, limit=limit, after=after, everything=everything, as_json=as_json)


def _watch(accepted: "AcceptedBatch", url: str | None, *, as_json: bool) -> None:
    task_id = accepted["taskId"]

    async def work(remote: Remote) -> tuple["TaskStatus", str]:
        return await followed(remote, task_id, quiet=as_json)

    if not as_json:
        console().print(f"batch {task_id} of {accepted['count']} tasks")
    with going_on(task_id, url):
        finish(*ask(url, work), url, as_json=as_json)


def _batch(task: "TaskItem") -> Sequence[object]:
    return (
        task["taskId"],
        task["status"],
        f"{task['progress']} %",
        None if task["final"] else task["currentStep"],
        age(task["createdAt"]),
    )


def _row(child: "Child") -> Sequence[object]:
    return (
        child["index"],
        child["taskId"],
        child["status"],
        child["failureKind"] or "",
        _outcome(child),
    )


def _outcome(child: "Child") -> str:
    if child["status"] != "COMPLETED":
        return child["errorMessage"] or ""
    if "resultUrl" in child:
        return f"{child['resultBytes']} bytes"
    return json_text(child["result"], indent=None)[:_SHOWN]
