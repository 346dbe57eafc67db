"""Who asks, and may they: local mode, API keys, and pages of other sites kept out.

docs/http-api.md, "Who may do what", is the contract.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.requests import Request

from stagepost.addresses import is_loopback
from stagepost.caller import Caller
from stagepost.records import ApiKey, Scope
from stagepost.settings import Settings
from stagepost.web.exchange import ANYBODY_HERE, Identity, exchange_of
from stagepost.web.keyring import Keyring
from stagepost.web.problems import Kind, Problem
from stagepost.web.roles import FIRST_TENANT, Role, highest

KEY_USER: Final = "key:"
"""The user of a key that is bound to none is this and the key's name; no bound user starts so."""

_LOCAL_TENANT: Final = "local"
_NAME_LENGTH: Final = 128

Headers = Mapping[bytes, bytes]


class Door:
    """Identifies callers and lets them in."""

    def __init__(self, settings: Settings, keyring: Keyring) -> None:
        self._local = "local" in settings.auth
        self._keys = "keys" in settings.auth
        self._keyring = keyring

    def guard(self, headers: Headers) -> None:
        """Keep other sites' pages out of a server that believes whoever reaches it.

        A page can make a browser send requests here, but not forge Host, Origin or Sec-Fetch-Site:
        a foreign Host is DNS rebinding, a foreign Origin another site's script or form.
        """
        if not self._local:
            return
        host = headers.get(b"host", b"").decode("latin-1")
        if not is_loopback(_host_name(host)):
            raise Problem(
                Kind.FORBIDDEN,
                "This server answers only to the names of this machine: use http://127.0.0.1 or "
                "http://localhost.",
            )
        origin = headers.get(b"origin")
        foreign = origin is not None and _authority(origin.decode("latin-1")) != host
        if foreign or _sent_by_another_site(headers):
            raise Problem(Kind.FORBIDDEN, "Pages of other sites can't use this server.")

    def requires(
        self, role: Role | None, route: str, *, for_all: bool
    ) -> Callable[[Request], Awaitable[None]]:
        """A dependency that lets in whoever has the role, and may act for all where that is so."""

        async def enter(request: Request) -> None:
            identity = await self.enter(request.scope, role, route)
            if for_all and not identity.acts_for_all:
                raise Problem(
                    Kind.FORBIDDEN,
                    "This changes what all tenants share: it takes a key of the tenant "
                    f"{FIRST_TENANT}, or the local mode.",
                )

        return enter

    async def enter(self, scope: Any, role: Role | None, route: str) -> Identity:
        """Identify the caller of a request and check the role; raises Problem."""
        exchange = exchange_of(scope)
        exchange.route = route
        if role is None:
            return exchange.identity
        identity = await self._identify(exchange.headers)
        if identity.role < role:
            raise Problem(
                Kind.FORBIDDEN, f"This needs the role {role.word}; the key does not carry it."
            )
        exchange.identity = identity
        return identity

    async def _identify(self, headers: Headers) -> Identity:
        given = headers.get(b"authorization")
        if self._keys and given is not None:
            return await self._by_key(given)
        if self._local:
            return _by_headers(headers)
        raise _unauthorized("Send an API key as Authorization: Bearer sp_live_...")

    async def _by_key(self, given: bytes) -> Identity:
        scheme, _, text = given.decode("latin-1").partition(" ")
        key = await self._keyring.find(text.strip()) if scheme.lower() == "bearer" else None
        if key is None:
            raise _unauthorized("This is no valid API key; it may have been revoked.")
        return _of_key(key)


def _host_name(host: str) -> str:
    """The name in a Host header, without port and brackets."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _authority(origin: str) -> str:
    """The name and port in an Origin header; empty for what has none or is no address."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _sent_by_another_site(headers: Headers) -> bool:
    # Following a link to a page of ours is what links are for; everything else is not.
    site = headers.get(b"sec-fetch-site", b"none")
    if site in {b"none", b"same-origin"}:
        return False
    return headers.get(b"sec-fetch-mode") != b"navigate" or b"origin" in headers


def _of_key(key: ApiKey) -> Identity:
    scope = Scope(key.tenant, key.user)
    caller = Caller(key.tenant, key.user or f"{KEY_USER}{key.name}", scope)
    return Identity(caller, scope, highest(key.roles), key.hash)


def _by_headers(headers: Headers) -> Identity:
    tenant, user = headers.get(b"x-tenant-id"), headers.get(b"x-user-id")
    if tenant is None and user is None:
        return ANYBODY_HERE
    named = _name(tenant, "X-Tenant-Id")
    scope = Scope(named)
    return Identity(Caller(named, _name(user, "X-User-Id"), scope), scope, Role.ADMIN)


def _name(value: bytes | None, header: str) -> str:
    if value is None:
        return _LOCAL_TENANT
    name = value.decode("utf-8", "replace")
    if not name.isprintable() or not 1 <= len(name) <= _NAME_LENGTH or "\ufffd" in name:
        raise Problem(
            Kind.BAD_REQUEST,
            f"{header} takes 1 to {_NAME_LENGTH} printable characters of UTF-8.",
        )
    return name


def _unauthorized(detail: str) -> Problem:
    return Problem(Kind.UNAUTHORIZED, detail, headers={"WWW-Authenticate": "Bearer"})
