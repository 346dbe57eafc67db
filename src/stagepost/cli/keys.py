"""`stagepost keys`: API keys of the tenant that STAGEPOST_API_KEY belongs to."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from stagepost.cli.asking import Json, Url, ask
from stagepost.cli.output import ago, console, print_json, show, table
from stagepost.remote import Remote

if TYPE_CHECKING:
    from stagepost.web.schemas import Key, NewKey

keys_app = typer.Typer(no_args_is_help=True, help="Create, list and revoke API keys.")


class Role(StrEnum):
    """What a key may do; each includes the ones before it."""

    READ = "read"
    SUBMIT = "submit"
    OPERATE = "operate"
    ADMIN = "admin"


@keys_app.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is for.")],
    role: Annotated[
        list[Role] | None, typer.Option(help="What it may do; may be repeated.")
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="Bind it to a user, whose tasks alone it sees.")
    ] = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Create a key; its text is shown this once."""
    roles = [each.value for each in role or [Role.SUBMIT]]

    async def work(remote: Remote) -> "NewKey":
        return await remote.make_key(name, roles, user)

    key = ask(url, work)
    if as_json:
        print_json(key)
        return
    console().print(key["key"], soft_wrap=True)
    console(err=True).print(f"id {key['keyId']}; the key is shown only now, keep it safe")


@keys_app.command(name="list")
def list_keys(url: Url = None, as_json: Json = False) -> None:
    """List the keys."""

    async def work(remote: Remote) -> "list[Key]":
        return [key async for key in remote.live_keys()]

    found = ask(url, work)
    if as_json:
        print_json({"items": found, "next": None})
        return
    rows = [
        (key["keyId"], key["name"], ", ".join(key["roles"]), key["user"], ago(key["createdAt"]))
        for key in found
    ]
    show(table(("ID", "NAME", "ROLES", "USER", "CREATED"), rows))


@keys_app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id.")],
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Revoke a key; what it has open is closed."""

    async def work(remote: Remote) -> None:
        await remote.revoke_key(key_id)

    ask(url, work)
    if as_json:
        print_json({"keyId": key_id, "revoked": True})
    else:
        console().print(f"key {key_id} is revoked")
