"""Tables, for a terminal and for a page."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table as Picture

from bench.result import Table, Target

_WIDTH = 170


def print_table(table: Table) -> None:
    """One table on standard output."""
    picture = Picture(*table.columns, title=table.title)
    for row in table.rows:
        picture.add_row(*row)
    Console(width=_WIDTH).print(picture)


def markdown(table: Table) -> str:
    """The same for a page."""
    lines = [table.columns, ["---"] * len(table.columns), *table.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def targets_table(targets: Sequence[Target], *, judged: bool) -> Table:
    """What must be reached beside what was; a quick run judges nothing."""
    rows = [
        (
            target.what,
            target.wanted + (f" (aim {target.aim})" if target.aim else ""),
            target.measured,
            _verdict(target) if judged else "not judged",
        )
        for target in targets
    ]
    return Table("must reach", ("what", "wanted", "measured", ""), rows)


def _verdict(target: Target) -> str:
    return "ok" if target.met else "MISSED"


def spread_text(spread: Mapping[str, float], digits: int = 0) -> str:
    """A median with its range."""
    median, least, most = (f"{spread[k]:,.{digits}f}" for k in ("median", "min", "max"))
    return median if least == most else f"{median} ({least}..{most})"
