"""The command line: one file for each group of commands."""

import typer

from stagepost.cli.dev import dev_app

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Stagepost runs long AI tasks behind a product.",
)
app.add_typer(dev_app, name="dev")


@app.callback()
def _root() -> None:
    """A group even while it holds one command."""


def main() -> None:
    """The `stagepost` command."""
    app()
