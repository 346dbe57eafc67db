"""Exit codes, and errors as one line on stderr. docs/cli.md has the table."""

import contextlib
from collections.abc import Iterator
from enum import IntEnum

import typer

from stagepost.masking import masked


class Exit(IntEnum):
    """What the shell is told."""

    COMPLETED = 0
    ENDED_OTHERWISE = 1
    USAGE = 2
    NOT_REACHABLE = 3
    REFUSED = 4
    INTERRUPTED = 130


class Usage(typer.TyperException):
    """The command line or a setting is wrong; the sentence says how to right it."""

    exit_code = Exit.USAGE


@contextlib.contextmanager
def usage() -> Iterator[None]:
    """What raises ValueError inside is the caller's to mend."""
    try:
        yield
    except ValueError as error:
        raise Usage(str(error)) from error


def complain(message: str) -> None:
    """One line on stderr, without passwords."""
    typer.echo(f"stagepost: {masked(' '.join(message.split()))}", err=True)
