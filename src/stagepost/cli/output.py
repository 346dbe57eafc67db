"""How answers look: tables and texts for people, JSON for programs; long ones page on a terminal.

Whatever a server says is shown as plain text: no markup, and no character that a terminal obeys.
"""

import errno
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

_OBEYED: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_WIDE: Final = 200  # columns where there is no terminal, so that nothing is cut for a program
_STYLES: Final[Mapping[str, str]] = {
    "COMPLETED": "green",
    "RUNNING": "cyan",
    "FAILED": "yellow",
    "WAITING": "yellow",
    "DEAD_LETTER": "red",
    "CANCELLED": "dim",
}


def console(*, err: bool = False) -> Console:
    """Where to print."""
    stream = sys.stderr if err else sys.stdout
    width = None if stream.isatty() else _WIDE
    return _Console(stderr=err, highlight=False, markup=False, emoji=False, width=width)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Whoever read has gone: an ordinary error, so that connections are closed on the way."""
        raise BrokenPipeError(errno.EPIPE, "nobody reads the output")


def cleaned(value: object) -> str:
    """A value as text that no terminal obeys; None is empty."""
    return "" if value is None else _OBEYED.sub("\N{REPLACEMENT CHARACTER}", str(value))


def plain(value: object, style: str = "") -> Text:
    """The same, to be shown in a style."""
    return Text(cleaned(value), style=style)


def status_text(status: str) -> Text:
    """A status in its colour."""
    return plain(status, _STYLES.get(status, ""))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, head: bool = True) -> Table:
    """Rows under their column names."""
    drawn = Table(box=None, pad_edge=False, show_header=head, header_style="bold")
    for number, column in enumerate(columns):
        # An id must stay whole to be of use in the next command.
        drawn.add_column(column, no_wrap=number == 0)
    for row in rows:
        drawn.add_row(*(cell if isinstance(cell, Text) else plain(cell) for cell in row))
    return drawn


def show(*parts: RenderableType) -> None:
    """Print, through the pager when it is more than a screen of a terminal."""
    out = console()
    whole = Group(*parts)
    if not out.is_terminal:
        with out.capture() as captured:
            out.print(whole)
        lines = (line.rstrip() for line in captured.get().splitlines())
        sys.stdout.writelines(f"{line}\n" for line in lines)
    elif len(out.render_lines(whole, pad=False)) >= out.height:
        with out.pager():
            out.print(whole)
    else:
        out.print(whole)


def print_json(value: Any) -> None:
    """Print one JSON document."""
    sys.stdout.write(json_text(value) + "\n")


def json_text(value: Any, *, indent: int | None = 2) -> str:
    """JSON in which no character is left that a terminal obeys; on one line without an indent."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def ago(instant: str | None) -> str:
    """How long ago an RFC 3339 instant was, roughly; empty for None."""
    if instant is None:
        return ""
    seconds = (datetime.now(UTC) - datetime.fromisoformat(instant)).total_seconds()
    return f"{duration(max(0.0, seconds))} ago"


def age(instant: str | None) -> str:
    """How long ago an RFC 3339 instant was, in a few characters; empty for None."""
    if instant is None:
        return ""
    seconds = max(0.0, (datetime.now(UTC) - datetime.fromisoformat(instant)).total_seconds())
    for unit, length, most in (("s", 1, 60), ("m", 60, 60), ("h", 3600, 48)):
        if seconds < length * most:
            return f"{seconds // length:.0f}{unit}"
    return f"{seconds // 86_400:.0f}d"


def local_time(instant: str, zone: str) -> str:
    """An RFC 3339 instant as the clocks of a zone show it; empty for a zone not known here."""
    try:
        shown = datetime.fromisoformat(instant).astimezone(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError):
        return ""
    return shown.strftime("%a %Y-%m-%d %H:%M:%S %Z")


def seconds_between(start: str | None, end: str | None) -> float | None:
    """The seconds from one RFC 3339 instant to another."""
    if start is None or end is None:
        return None
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def duration(seconds: float | None) -> str:
    """A time span in its largest fitting unit; empty for None."""
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    for unit, length, limit in (("min", 60, 60), ("h", 3600, 48)):
        if seconds < length * limit:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds / 86_400:.0f} days"


def money(dollars: float) -> str:
    """US dollars: cents from a dollar on, else as many digits as there are, to a millionth."""
    if dollars >= 1:
        return f"${dollars:,.2f}"
    whole, _, rest = f"{dollars:.6f}".partition(".")
    return f"${whole}.{rest.rstrip('0').ljust(2, '0')}"


def size(count: int | None) -> str:
    """Bytes in their largest fitting unit; empty for None."""
    if count is None:
        return ""
    value = float(count)
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"
