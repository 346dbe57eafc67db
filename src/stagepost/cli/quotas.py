"""`stagepost quotas`: how many tasks of a tenant may wait to start."""

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from stagepost.cli.asking import Json, Url, ask
from stagepost.cli.exits import Usage
from stagepost.cli.listing import After, All, Limit, Listing, print_listing
from stagepost.cli.output import cleaned, console, print_json
from stagepost.cli.rows import Columns
from stagepost.remote import Remote

if TYPE_CHECKING:
    from stagepost.web.quotas import Quotas

_ANY: Final = "any"
_LISTING: Final = Listing(
    Columns(("TENANT", "MAY WAIT"), narrow=("TENANT", "MAY WAIT"), below=()),
    lambda quota: (quota["tenant"], _number(quota["maxQueued"])),
    lambda remote, limit, after: remote.quotas.page(limit, after),
    "No tenant has quotas of its own.",
)


def quotas(
    tenant: Annotated[
        str | None, typer.Argument(metavar="TENANT", help="The tenant; without it a list.")
    ] = None,
    max_queued: Annotated[
        str | None,
        typer.Option(help="How many of its tasks may wait from now on: a number, or any."),
    ] = None,
    default: Annotated[
        bool, typer.Option("--default", help="It has no quotas of its own any more.")
    ] = False,
    limit: Limit = 50,
    after: After = None,
    everything: All = False,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Show or set how many tasks of a tenant may wait to start."""
    if tenant is None:
        if max_queued is not None or default:
            raise Usage("Name the tenant whose quotas you mean.")
        print_listing(
            _LISTING, url, limit=limit, after=after, everything=everything, as_json=as_json
        )
        return
    if max_queued is not None and default:
        raise Usage("Give --max-queued or --default, not both.")
    number = _parsed(max_queued)

    async def work(remote: Remote) -> "Quotas":
        if max_queued is not None:
            return await remote.quotas.set(tenant, number)
        if default:
            await remote.quotas.unset(tenant)
        return await remote.quotas.get(tenant)

    _print(ask(url, work), as_json=as_json)


def _parsed(text: str | None) -> int | None:
    if text is None or text == _ANY:
        return None
    if not (text.isascii() and text.isdigit()):
        raise Usage(f'--max-queued is "{text}"; it takes a whole number, or any.')
    return int(text)


def _print(found: "Quotas", *, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    whose = "" if found["own"] else " (the default)"
    console().print(
        f"tenant {cleaned(found['tenant'])}: {_number(found['maxQueued'])} may wait{whose}, "
        f"{found['waiting']} do",
        soft_wrap=True,
    )


def _number(most: Any) -> str:
    return _ANY if most is None else str(most)
