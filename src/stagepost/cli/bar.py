"""A task's progress while it is watched: a live bar on a terminal, else one line per change."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Column

from stagepost.cli.output import cleaned, console
from stagepost.cli.picture import Picture


class Shows(Protocol):
    """Something that shows a picture."""

    def show(self, picture: Picture) -> None:
        """Show it in place of the one before."""
        ...


@contextmanager
def showing(title: str, *, quiet: bool = False) -> Iterator[Shows]:
    """What fits stdout, until the watching ends."""
    out = console()
    if quiet:
        yield _Nothing()
    elif out.is_terminal:
        with _progress(out) as progress:
            yield _Bar(progress, title)
    else:
        yield _Lines(out)


def _progress(out: Console) -> Progress:
    return Progress(
        TextColumn("{task.fields[title]}", markup=False),
        BarColumn(bar_width=30),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn(
            "{task.description}",
            markup=False,
            table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1),
        ),
        console=out,
        expand=True,
    )


class _Bar:
    def __init__(self, progress: Progress, title: str) -> None:
        self._progress = progress
        self._row = progress.add_task("", total=100, title=cleaned(title))

    def show(self, picture: Picture) -> None:
        message = cleaned(picture.message)
        self._progress.update(self._row, completed=picture.percent, description=message)


class _Lines:
    def __init__(self, out: Console) -> None:
        self._out = out
        self._began = time.monotonic()
        self._shown: Picture | None = None

    def show(self, picture: Picture) -> None:
        before, self._shown = self._shown, picture
        if not picture.message or (before is not None and _visible(before) == _visible(picture)):
            return
        elapsed = int(time.monotonic() - self._began)
        clock = f"{elapsed // 60:02d}:{elapsed % 60:02d}"
        line = f"{clock} {picture.percent:3d}% {cleaned(picture.message)}"
        self._out.print(line, soft_wrap=True)


class _Nothing:
    def show(self, picture: Picture) -> None:
        pass


def _visible(picture: Picture) -> tuple[int, str]:
    return picture.percent, picture.message
