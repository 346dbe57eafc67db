"""`stagepost submit`."""

from typing import TYPE_CHECKING, Annotated

import typer

from stagepost.cli.asking import Json, Url, ask, check_instants
from stagepost.cli.exits import usage
from stagepost.cli.given import given_input
from stagepost.cli.output import console, print_json
from stagepost.cli.watch import finish, followed, going_on, with_url
from stagepost.remote import FilePart, Remote, SubmitOptions, named, placed

if TYPE_CHECKING:
    from stagepost.web.schemas import Accepted, TaskStatus

TypeName = Annotated[str, typer.Argument(metavar="TYPE", help="The task type.")]
Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE", help="Files for the type's file fields, in their order; or field=FILE."
    ),
]
Given = Annotated[str, typer.Option("--input", help="The input: JSON, @FILE, or - for stdin.")]
Lane = Annotated[str | None, typer.Option(help="Another lane than the type's own.")]
Priority = Annotated[int | None, typer.Option(help="Seconds of head start in its lane.")]
Delay = Annotated[float | None, typer.Option(min=0, help="Seconds until it may start.")]
RunAt = Annotated[str | None, typer.Option(help="When it may start, such as 2026-01-31T08:00:00Z.")]
Deadline = Annotated[str | None, typer.Option(help="When it must be done.")]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", help="A word to find it by; may be repeated.")
]
IdempotencyKey = Annotated[
    str | None, typer.Option(help="The same key and content never make a second task.")
]
ConcurrencyKey = Annotated[
    str | None, typer.Option(help="Of the tasks with one such key only one runs at a time.")
]
UniqueKey = Annotated[
    str | None, typer.Option(help="While a task of this type and key is not over, it is the one.")
]
Debounce = Annotated[
    float | None,
    typer.Option(min=0, help="Seconds after the last submit with this unique key; starts then."),
]
Watch = Annotated[
    bool, typer.Option("--watch", help="Watch it until it ends; the exit code says how.")
]


def submit(
    type_name: TypeName,
    files: Files = None,
    given: Given = "",
    lane: Lane = None,
    priority: Priority = None,
    delay: Delay = None,
    run_at: RunAt = None,
    deadline: Deadline = None,
    tags: Tags = None,
    idempotency_key: IdempotencyKey = None,
    concurrency_key: ConcurrencyKey = None,
    unique_key: UniqueKey = None,
    debounce: Debounce = None,
    watch: Watch = False,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Submit a task."""
    check_instants(run_at=run_at, deadline=deadline)
    value = given_input(given)
    options = SubmitOptions(
        lane, priority, delay, run_at, deadline, tuple(tags or ()), idempotency_key,
        concurrency_key, unique_key, debounce,
    )  # fmt: skip

    async def work(remote: Remote) -> "Accepted":
        with usage():
            parts = await _parts(remote, type_name, files or [])
            return await remote.submit(type_name, value, parts, options)

    accepted = ask(url, work)
    if watch:
        _watch(accepted, url, as_json=as_json)
    elif as_json:
        print_json(accepted)
    else:
        _print(accepted, url)


def _watch(accepted: "Accepted", url: str | None, *, as_json: bool) -> None:
    task_id = accepted["taskId"]

    async def work(remote: Remote) -> tuple["TaskStatus", str]:
        return await followed(remote, task_id, quiet=as_json)

    if not as_json:
        console().print(f"task {task_id} ({accepted['type']})")
    with going_on(task_id, url):
        finish(*ask(url, work), url, as_json=as_json)


def _print(accepted: "Accepted", url: str | None) -> None:
    out = console()
    out.print(f"task {accepted['taskId']} ({accepted['status'].lower()})")
    out.print(f"watch it: stagepost watch {accepted['taskId']}{with_url(url)}", soft_wrap=True)


async def _parts(remote: Remote, type_name: str, files: list[str]) -> list[FilePart]:
    parts = named(files)
    if all(part.field for part in parts):
        return parts
    return placed(parts, await remote.file_fields(type_name))
