"""`stagepost erase`."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from stagepost.cli.asking import Json, TaskId, Url, ask
from stagepost.cli.exits import Usage
from stagepost.cli.output import console, print_json
from stagepost.remote import Remote

if TYPE_CHECKING:
    from stagepost.web.schemas import Erased


def erase(
    task_id: TaskId,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Erase a task that is over: its input, result, files, steps and history. Hashes stay."""
    if not yes:
        _confirm(task_id)

    async def work(remote: Remote) -> "Erased":
        return await remote.erase(task_id)

    erased = ask(url, work)
    if as_json:
        print_json(erased)
    else:
        console().print(
            f"task {task_id} was erased by {erased['erasedBy']} at {erased['erasedAt']}",
            soft_wrap=True,
        )


def _confirm(task_id: str) -> None:
    if not sys.stdin.isatty():
        raise Usage("Nobody can be asked here; say --yes if the task is to be erased.")
    typer.confirm(f"Erase all that task {task_id} holds? It can't be undone.", abort=True, err=True)
