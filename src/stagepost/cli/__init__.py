"""The command line: one file for each group of commands."""

import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated

import typer

from stagepost.cli import (
    budgets,
    doctor,
    erase,
    init,
    quotas,
    server,
    signals,
    simulate,
    submit,
    tasks,
    up,
    usage,
    watch,
)
from stagepost.cli.audit import audit_app
from stagepost.cli.batches import batches_app
from stagepost.cli.dead_letters import dead_letters_app
from stagepost.cli.dev import dev_app
from stagepost.cli.exits import Exit, complain
from stagepost.cli.keys import keys_app
from stagepost.cli.limits import limits_app
from stagepost.cli.rules import lanes_app, tenants_app, types_app
from stagepost.cli.schedules import schedules_app
from stagepost.errors import StagepostError
from stagepost.remote import Unreachable

_HELP = """Stagepost runs long AI tasks behind a product.

\b
Exit codes:
  0  completed; for up, api, worker, maintenance: ended after a clean drain
  1  the task ended otherwise; for doctor and audit verify: something is wrong
  2  usage: the command line, a setting, a local file or the app
  3  the server could not be reached, or could not do it now
  4  refused: by the server, or a data folder or port can't be had
 70  up, api, worker, maintenance: the process did not come up in ten tries
130  Ctrl-C while watching; the task goes on
"""

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(up.up)
app.command()(up.api)
app.command()(up.worker)
app.command()(up.maintenance)
app.command()(submit.submit)
app.command()(watch.watch)
app.command()(tasks.tasks)
app.command(name="show")(tasks.show_task)
app.command()(tasks.events)
app.command()(tasks.cancel)
app.command()(signals.signal)
app.add_typer(batches_app, name="batches")
app.command(name="erase")(erase.erase)
app.add_typer(dead_letters_app, name="dead-letters")
app.add_typer(lanes_app, name="lanes")
app.add_typer(types_app, name="types")
app.add_typer(tenants_app, name="tenants")
app.command()(server.workers)
app.add_typer(limits_app, name="limits")
app.add_typer(schedules_app, name="schedules")
app.command()(quotas.quotas)
app.command()(budgets.budgets)
app.command(name="usage")(usage.show_usage)
app.add_typer(keys_app, name="keys")
app.add_typer(audit_app, name="audit")
app.command()(doctor.doctor)
app.command()(init.init)
app.command()(simulate.simulate_provider)
app.add_typer(dev_app, name="dev")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"stagepost {version('stagepost')}")
        raise typer.Exit


@app.callback(help=_HELP)
def _stagepost(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Print the version."
        ),
    ] = False,
) -> None:
    """What holds for all commands."""


def main() -> None:
    """The `stagepost` command."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """One command line; returns its exit code. Errors are one line on stderr."""
    try:
        code = app(args=list(arguments), prog_name="stagepost", standalone_mode=False)
    except typer.TyperException as error:
        return _wrong(error)
    except typer.Abort:
        complain("Stopped.")
        return Exit.ENDED_OTHERWISE
    except Unreachable as error:
        complain(str(error))
        return Exit.NOT_REACHABLE
    except StagepostError as error:
        complain(str(error))
        return Exit.REFUSED
    return code if isinstance(code, int) else Exit.COMPLETED


def _wrong(error: typer.TyperException) -> int:
    message = error.format_message().replace("Value error, ", "")
    # A group without a command has printed its help already.
    if message:
        context = getattr(error, "ctx", None)
        hint = f" See {context.command_path} --help." if context is not None else ""
        stop = "" if message.endswith((".", "!", "?")) else "."
        complain(message + stop + hint)
    return error.exit_code
