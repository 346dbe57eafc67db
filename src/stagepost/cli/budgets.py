"""`stagepost budgets`: what a tenant may spend on models."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from stagepost.cli.asking import Json, Url, ask
from stagepost.cli.exits import Usage
from stagepost.cli.listing import After, All, Limit, Listing, print_listing
from stagepost.cli.output import cleaned, console, print_json
from stagepost.cli.rows import Columns
from stagepost.remote import Remote

if TYPE_CHECKING:
    from stagepost.web.budgets import TenantBudgets

_ANY: Final = "any"
_LISTING: Final = Listing(
    Columns(("TENANT", "MAY SPEND"), narrow=("TENANT", "MAY SPEND"), below=()),
    lambda each: (each["tenant"], _words(each["budgets"])),
    lambda remote, limit, after: remote.budgets.page(limit, after),
    "No tenant has budgets of its own.",
)


def budgets(
    tenant: Annotated[
        str | None, typer.Argument(metavar="TENANT", help="The tenant; without it a list.")
    ] = None,
    spend: Annotated[
        list[str] | None,
        typer.Option(help="US dollars in a period from now on: 20/day, 300/month, or any."),
    ] = None,
    default: Annotated[
        bool, typer.Option("--default", help="It has the budgets of models.toml again.")
    ] = False,
    limit: Limit = 50,
    after: After = None,
    everything: All = False,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Show or set what a tenant may spend on models."""
    if tenant is None:
        if spend or default:
            raise Usage("Name the tenant whose budgets you mean.")
        print_listing(
            _LISTING, url, limit=limit, after=after, everything=everything, as_json=as_json
        )
        return
    if spend and default:
        raise Usage("Give --spend or --default, not both.")

    async def work(remote: Remote) -> "TenantBudgets":
        if spend:
            return await remote.budgets.set(tenant, [] if spend == [_ANY] else spend)
        if default:
            await remote.budgets.unset(tenant)
        return await remote.budgets.get(tenant)

    _print(ask(url, work), as_json=as_json)


def _print(found: "TenantBudgets", *, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    whose = "" if found["own"] else " (the default)"
    console().print(
        f"tenant {cleaned(found['tenant'])} may spend {_words(found['budgets'])}{whose}",
        soft_wrap=True,
    )


def _words(amounts: Sequence[str]) -> str:
    return " and ".join(f"${each}" for each in amounts) or _ANY
