"""`stagepost watch`, and what `submit --watch` does after its submit."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import typer

from stagepost.cli.asking import Json, TaskId, Url, ask
from stagepost.cli.bar import showing
from stagepost.cli.exits import Exit, complain
from stagepost.cli.output import (
    cleaned,
    console,
    duration,
    json_text,
    print_json,
    seconds_between,
)
from stagepost.cli.picture import Picture
from stagepost.masking import masked
from stagepost.remote import Remote

if TYPE_CHECKING:
    from stagepost.web.schemas import TaskStatus

_FOR_THE_OPERATOR: Final = "whoever runs the server finds the cause in its log, and with: {show}"
_SHORT_RESULT: Final = 4_000  # characters that are shown at the end


def watch(task_id: TaskId, url: Url = None, as_json: Json = False) -> None:
    """Watch a task until it ends; the exit code says how."""

    async def work(remote: Remote) -> tuple["TaskStatus", str]:
        return await followed(remote, task_id, quiet=as_json)

    with going_on(task_id, url):
        finish(*ask(url, work), url, as_json=as_json)


async def followed(remote: Remote, task_id: str, *, quiet: bool) -> tuple["TaskStatus", str]:
    """Show a task's progress until it ends; returns its last status, and the last that was told."""
    with showing(task_id[:8], quiet=quiet) as shown:
        picture = Picture()
        async for news in remote.follow(task_id):
            picture = picture.after(news)
            shown.show(picture)
    return await remote.status(task_id), picture.message


@contextlib.contextmanager
def going_on(task_id: str, url: str | None) -> Iterator[None]:
    """Ctrl-C ends the watching, not the task, and says how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        again = f"stagepost watch {task_id}{with_url(url)}"
        complain(f"The task goes on; watch it again with: {again}")
        raise typer.Exit(Exit.INTERRUPTED) from None


def finish(status: "TaskStatus", told: str, url: str | None, *, as_json: bool) -> None:
    """Print how a task ended and exit with its code."""
    completed = status["status"] == "COMPLETED"
    if as_json:
        print_json(status)
    else:
        _print_outcome(status, told, url)
    raise typer.Exit(Exit.COMPLETED if completed else Exit.ENDED_OTHERWISE)


def _print_outcome(status: "TaskStatus", told: str, url: str | None) -> None:
    out = console()
    show = f"stagepost show {status['taskId']}{with_url(url)}"
    match status["status"]:
        case "COMPLETED":
            out.print(_completed(status), style="green")
            out.print(_result(status, show), soft_wrap=True)
        case "DEAD_LETTER":
            reason = cleaned(status["errorMessage"])
            out.print(f"failed: {reason} ({status['failureKind']})", style="red", soft_wrap=True)
            if status["failureKind"] == "BUG":
                out.print(_FOR_THE_OPERATOR.format(show=show), soft_wrap=True)
                return
        case _:
            # The end event's words: who, and why.
            out.print(cleaned(told), soft_wrap=True)
    out.print(f"more: {show}", soft_wrap=True)


def _completed(status: "TaskStatus") -> str:
    if status["attempt"] > 1:
        # Time between attempts, perhaps as a dead letter, is none that the work took.
        return f"completed, attempt {status['attempt']}"
    took = duration(seconds_between(status["createdAt"], status["completedAt"]))
    return f"completed in {took}"


def _result(status: "TaskStatus", show: str) -> str:
    text = json_text(status["result"])
    if "resultUrl" in status or len(text) > _SHORT_RESULT:
        return f"the result is large: {show} --save DIR"
    return text


def with_url(url: str | None) -> str:
    """The part of a command line that names the same server again."""
    return f" --url {masked(url)}" if url else ""
