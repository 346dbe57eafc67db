"""Lists of things: a table where there is room for it, else a short row with the rest below it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from stagepost.cli.output import plain, table

_LEAST_TEXT = 30
"""Columns that the last cell, which is free text, needs in a table."""


@dataclass(frozen=True, slots=True)
class Columns:
    """What the cells are called, and which of them stay where there is little room.

    `names` are those of a table; the last one's cells are free text. Of a narrow terminal's rows
    `narrow` are the first line's, in its order; of the others only the last is shown, below, and
    those of `below` beside their names.
    """

    names: Sequence[str]
    narrow: Sequence[str]
    below: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Rows:
    """Something that a console can print: rows of cells under their columns."""

    columns: Columns
    cells: Sequence[Sequence[object]]
    head: bool = True

    @classmethod
    def of(
        cls, columns: Columns, cells: Iterable[Sequence[object]], *, head: bool = True
    ) -> "Rows":
        """The rows as they are."""
        return cls(columns, tuple(cells), head)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not console.is_terminal or self._needs(console, options) <= options.max_width:
            yield table(self.columns.names, self.cells, head=self.head)
        else:
            yield from self._narrow()

    def _needs(self, console: Console, options: ConsoleOptions) -> int:
        fixed = table(self.columns.names[:-1], (row[:-1] for row in self.cells))
        wide = options.update(max_width=10_000)
        text = max((len(_text(row[-1])) for row in self.cells), default=0)
        heading = len(self.columns.names[-1])
        least = max(heading, min(text, _LEAST_TEXT))
        return Measurement.get(console, wide, fixed).maximum + 2 + least

    def _narrow(self) -> Iterator[RenderableType]:
        # The tables of the rows are apart, and their columns must stand below one another.
        places = [self.columns.names.index(name) for name in self.columns.narrow]
        widths = [
            max(len(name), *(len(_text(row[place])) for row in self.cells))
            if self.cells
            else len(name)
            for name, place in zip(self.columns.narrow, places, strict=True)
        ]
        if self.head:
            yield _line([plain(name, "bold") for name in self.columns.narrow], widths)
        for row in self.cells:
            yield _line([_cell(row[place]) for place in places], widths)
            for text in self._rest(row):
                yield Padding(text, (0, 0, 0, 2))

    def _rest(self, row: Sequence[object]) -> Iterator[Text]:
        named = dict(zip(self.columns.names, row, strict=True))
        told = [
            f"{name.lower()} {_text(named[name])}"
            for name in self.columns.below
            if _text(named[name])
        ]
        if told:
            yield plain(", ".join(told), "dim")
        if _text(row[-1]) and self.columns.names[-1] not in self.columns.below:
            yield plain(row[-1], "dim")


def _line(cells: Sequence[Text], widths: Sequence[int]) -> Table:
    drawn = Table.grid(padding=(0, 2, 0, 0))
    for width in widths[:-1]:
        drawn.add_column(width=width, no_wrap=True)
    # The last takes what is left and goes on in the next line rather than being cut.
    drawn.add_column(overflow="fold")
    drawn.add_row(*cells)
    return drawn


def _cell(value: object) -> Text:
    return value if isinstance(value, Text) else plain(value)


def _text(value: object) -> str:
    return _cell(value).plain
