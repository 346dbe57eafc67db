"""`stagepost signal`."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from stagepost.cli.asking import Json, TaskId, Url, ask
from stagepost.cli.exits import Usage
from stagepost.cli.output import console, print_json
from stagepost.remote import Remote

if TYPE_CHECKING:
    from stagepost.web.schemas import SignalSent


def signal(
    task_id: TaskId,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the task waits for.")],
    value: Annotated[
        str, typer.Argument(metavar="[JSON]", help="What the task is told; null without it.")
    ] = "null",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Send a signal to a task that waits for it, now or later."""
    try:
        data = json.loads(value)
    except ValueError as error:
        raise Usage(f"{value!r} is no JSON ({error}); text stands in quotation marks.") from error

    async def work(remote: Remote) -> "SignalSent":
        return await remote.signal(task_id, name, data)

    sent = ask(url, work)
    if as_json:
        print_json(sent)
    else:
        console().print(f"task {task_id} is told {name} ({sent['status'].lower()})")
