"""Lists that come in pages: one page, or with --all every one of them."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from stagepost.cli.asking import ask
from stagepost.cli.output import console, json_text, print_json, show
from stagepost.cli.rows import Columns, Rows
from stagepost.remote import Remote

Limit = Annotated[int, typer.Option(min=1, max=200, help="How many at most.")]
After = Annotated[
    str | None, typer.Option(metavar="NEXT", help="Go on behind the `next` of the page before.")
]
All = Annotated[bool, typer.Option("--all", help="Every page.")]

_PAGE: Final = 200
_MOST_PAGES: Final = 10_000


@dataclass(frozen=True, slots=True)
class Listing:
    """A list's columns, an item's row, how a page is read, and the sentence that it is empty."""

    columns: Columns
    row: Callable[[Any], Sequence[object]]
    page: Callable[[Remote, int, str | None], Awaitable[Any]]
    none: str


def print_listing(
    listing: Listing,
    url: str | None,
    *,
    limit: int,
    after: str | None,
    everything: bool,
    as_json: bool,
) -> None:
    """Print one page, or all that follow `after`."""
    if everything:
        writer = _AllAsJson() if as_json else _AllAsRows(listing)
        ask(url, lambda remote: _write_all(remote, listing, after, writer))
        return
    page = ask(url, lambda remote: listing.page(remote, limit, after))
    if as_json:
        print_json(page)
        return
    show_rows(listing.columns, map(listing.row, page["items"]), listing.none)
    if page["next"] is not None:
        console(err=True).print(f"there are more: --after {page['next']}, or --all", soft_wrap=True)


def show_rows(columns: Columns, cells: Iterable[Sequence[object]], none: str) -> None:
    """Print rows, or on stderr the sentence that there are none."""
    rows = Rows.of(columns, cells)
    if rows.cells:
        show(rows)
    else:
        console(err=True).print(none)


class _AllAsJson:
    """One JSON document, written as the pages come."""

    def __init__(self) -> None:
        self._first = True

    def page(self, items: Sequence[Any]) -> None:
        for item in items:
            typer.echo('{"items": [' if self._first else ",")
            typer.echo(json_text(item), nl=False)
            self._first = False

    def end(self) -> None:
        typer.echo('{"items": [], "next": null}' if self._first else '], "next": null}')


class _AllAsRows:
    """Rows as the pages come, or one table through the pager of a terminal."""

    def __init__(self, listing: Listing) -> None:
        self._listing = listing
        self._kept: list[Any] | None = [] if console().is_terminal else None
        self._first = True

    def page(self, items: Sequence[Any]) -> None:
        if self._kept is not None:
            self._kept.extend(items)
        elif items:
            rows = map(self._listing.row, items)
            show(Rows.of(self._listing.columns, rows, head=self._first))
            self._first = False

    def end(self) -> None:
        if self._kept is not None or self._first:
            rows = map(self._listing.row, self._kept or ())
            show_rows(self._listing.columns, rows, self._listing.none)


async def _write_all(
    remote: Remote, listing: Listing, after: str | None, writer: _AllAsJson | _AllAsRows
) -> None:
    for _ in range(_MOST_PAGES):
        page = await listing.page(remote, _PAGE, after)
        writer.page(page["items"])
        after = page["next"]
        if after is None:
            break
    writer.end()
