"""What the commands share that talk to a server."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Annotated, TypeVar

import typer

from stagepost.addresses import server_url
from stagepost.cli.exits import Usage, usage
from stagepost.environment import from_environment
from stagepost.remote import Remote
from stagepost.settings import Settings

Answer = TypeVar("Answer")

Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        help="The server; else STAGEPOST_URL, else this machine's at STAGEPOST_PORT or 8080.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
TaskId = Annotated[str, typer.Argument(metavar="ID", help="The task's id.")]


def environment() -> Settings:
    """The settings. Raises Usage when one can't be understood."""
    with usage():
        return from_environment()


def check_instants(**given: str | None) -> None:
    """Refuse what is no instant. Raises Usage; an option's name has `_` for each `-`."""
    for name, text in given.items():
        try:
            good = text is None or datetime.fromisoformat(text).tzinfo is not None
        except ValueError:
            good = False
        if not good:
            raise Usage(
                f'--{name.replace("_", "-")} is "{text}", which is no instant; write it as '
                "2026-01-31T08:00:00Z."
            )


def ask(url: str | None, work: Callable[[Remote], Awaitable[Answer]]) -> Answer:
    """Do something with the server. Raises Refused, Unreachable, Usage."""

    async def with_server() -> Answer:
        settings = environment()
        with usage():
            address = server_url(url) if url else settings.server
        async with Remote(address, settings.api_key) as remote:
            return await work(remote)

    return asyncio.run(with_server())
