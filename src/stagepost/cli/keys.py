"""`stagepost keys`: API keys of the tenant that STAGEPOST_API_KEY belongs to, or of a named one."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from stagepost.cli.asking import Json, Url, ask
from stagepost.cli.exits import Usage
from stagepost.cli.listing import show_rows
from stagepost.cli.output import age, cleaned, console, print_json
from stagepost.cli.rows import Columns
from stagepost.remote import Remote

if TYPE_CHECKING:
    from stagepost.web.key_schemas import Key, NewKey

keys_app = typer.Typer(no_args_is_help=True, help="Create, list and revoke API keys.")


Tenant = Annotated[
    str | None,
    typer.Option(
        help="Of this tenant, not of the key's own (in the local mode: not of local); only a "
        "server in the local mode allows it."
    ),
]


_COLUMNS = Columns(
    ("ID", "NAME", "TENANT", "ROLES", "USER", "AGE"),
    narrow=("ID", "AGE", "NAME"),
    below=("TENANT", "ROLES", "USER"),
)


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
        list[Role] | None,
        typer.Option(
            metavar="ROLE",
            help="What it may do: read, submit, operate or admin, each with those before it; "
            "may be repeated. Without it: submit.",
        ),
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="Bind it to a user, whose tasks alone it sees.")
    ] = None,
    tenant: Tenant = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Create a key; its text is shown this once."""
    _check(tenant)
    roles = [each.value for each in role or [Role.SUBMIT]]

    async def work(remote: Remote) -> "NewKey":
        return await remote.keys.make(name, roles, user, tenant)

    key = ask(url, work)
    if as_json:
        print_json(key)
        return
    console().print(key["key"], soft_wrap=True)
    whose = ask(url, lambda remote: _tenant_of(remote, key["keyId"], tenant))
    console(err=True).print(
        f"id {key['keyId']}, tenant {whose}; the key is shown only now, keep it safe",
        soft_wrap=True,
    )


async def _tenant_of(remote: Remote, key_id: str, tenant: str | None) -> str:
    async for key in remote.keys.live(tenant):
        if key["keyId"] == key_id:
            return cleaned(key.get("tenant"))
    return tenant or "unknown"


def _check(tenant: str | None) -> None:
    if tenant is not None and not (tenant.isprintable() and tenant.strip() == tenant != ""):
        raise Usage("A tenant's name is 1 to 128 printable characters without a space around them.")


@keys_app.command(name="list")
def list_keys(tenant: Tenant = None, url: Url = None, as_json: Json = False) -> None:
    """List the keys of a tenant."""
    _check(tenant)

    async def work(remote: Remote) -> "list[Key]":
        return [key async for key in remote.keys.live(tenant)]

    found = ask(url, work)
    if as_json:
        print_json({"items": found, "next": None})
        return
    rows = [
        (
            key["keyId"],
            key["name"],
            key["tenant"],
            ", ".join(key["roles"]),
            key["user"],
            age(key["createdAt"]),
        )
        for key in found
    ]
    show_rows(_COLUMNS, rows, "No keys.")


@keys_app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id.")],
    tenant: Tenant = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Revoke a key; what it has open is closed."""
    _check(tenant)

    async def work(remote: Remote) -> None:
        await remote.keys.revoke(key_id, tenant)

    ask(url, work)
    if as_json:
        print_json({"keyId": key_id, "revoked": True})
    else:
        console().print(f"key {key_id} is revoked")
