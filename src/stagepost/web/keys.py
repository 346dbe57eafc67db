"""API keys: make one, list them, end one."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from fastapi import Query
from pydantic import Field, field_validator, model_validator
from starlette.requests import Request
from starlette.responses import Response

from stagepost.errors import Conflict
from stagepost.web import service_shapes, shapes
from stagepost.web.answers import (
    Operation,
    Page,
    Strict,
    answer,
    identity_of,
    reads,
    sliced,
    validated,
)
from stagepost.web.auth import KEY_USER
from stagepost.web.exchange import exchange_of
from stagepost.web.key_schemas import Key, NewKey
from stagepost.web.keyring import Keyring, api_key, new_text
from stagepost.web.limits import read_json
from stagepost.web.parts import Parts
from stagepost.web.problems import Kind, Problem
from stagepost.web.schemas import Listed

_KEYS_MOST: Final = 1_000  # of one tenant

RoleWord = Literal["read", "submit", "operate", "admin"]


class NewKeyBody(Strict):
    """A key to be made. A key with a `user` sees only that user's tasks."""

    name: str = Field(min_length=1, max_length=100)
    roles: list[RoleWord] = Field(min_length=1, max_length=4)
    user: str | None = Field(default=None, min_length=1, max_length=128)

    @field_validator("name", "user")
    @classmethod
    def _printable(cls, value: str | None) -> str | None:
        if value is not None and not value.isprintable():
            raise ValueError("only printable characters")
        return value

    @model_validator(mode="after")
    def _bound(self) -> "NewKeyBody":
        if self.user is not None and self.user.startswith(KEY_USER):
            raise ValueError(f'a user does not start with "{KEY_USER}"')
        if self.user is not None and "admin" in self.roles:
            # It could make itself a key without the binding.
            raise ValueError("a key that is bound to a user can't carry the role admin")
        return self


class KeyRoutes:
    """The routes of keys; they are those of the caller's tenant."""

    def __init__(self, parts: Parts, keyring: Keyring) -> None:
        self._parts = parts
        self._store = parts.store
        self._keyring = keyring

    def operations(self) -> Sequence[Operation]:
        """The routes."""
        return [
            Operation(
                method="POST",
                path="/api/v1/keys",
                endpoint=self.make,
                answers={201: NewKey},
                problems=(400, 409, 413, 415, 503),
                body=NewKeyBody,
            ),
            reads("/api/v1/keys", self.find, Listed[Key]),
            Operation(
                method="DELETE",
                path="/api/v1/keys/{key_id}",
                endpoint=self.revoke,
                answers={204: None},
                problems=(404, 503),
            ),
        ]

    async def make(self, request: Request) -> Response:
        """Make an API key. Its text is in this answer and never again."""
        body = validated(NewKeyBody, await read_json(request, self._parts.settings.limits))
        tenant = _tenant_of(request)
        if len(await self._store.keys(tenant)) >= _KEYS_MOST:
            raise Conflict(f"A tenant has at most {_KEYS_MOST} keys; revoke some.")
        text = new_text()
        key = api_key(text, name=body.name, tenant=tenant, roles=body.roles, user=body.user)
        kept = await self._store.add_key(key)
        return answer(service_shapes.new_key(kept, text), 201)

    async def find(self, request: Request, query: Annotated[Page, Query()]) -> Response:
        """The live API keys, without their texts."""
        keys = await self._store.keys(_tenant_of(request))
        chosen, after = sliced(keys, lambda record: record.id, query)
        return answer(shapes.page([service_shapes.key(record) for record in chosen], after))

    async def revoke(self, request: Request, key_id: str) -> Response:
        """End an API key. Within two seconds it opens nothing, and its open streams end."""
        await self._store.revoke_key(key_id, _tenant_of(request))
        self._keyring.forget()
        return Response(status_code=204)


def _tenant_of(request: Request) -> str:
    """The caller's tenant. Raises Problem where the request names another one in vain."""
    tenant = identity_of(request).caller.tenant
    named = exchange_of(request.scope).headers.get(b"x-tenant-id")
    if named is not None and named != tenant.encode():
        # Elsewhere the header does not count; here the key would be of another tenant than meant.
        raise Problem(
            Kind.FORBIDDEN,
            f"This key is of the tenant {tenant} and can't make or end keys of another one; the "
            "local mode can: see the section on tenants in docs/http-api.md.",
        )
    return tenant
