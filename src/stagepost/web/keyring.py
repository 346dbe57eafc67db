"""API keys: how they are made, kept, looked up and ended.

A key is `sp_live_` and 256 random bits. The store keeps only its SHA-256: a slow password hash
would add nothing, because nobody can guess through 256 random bits, and a plain hash keeps a
request's look-up cheap. Keys are compared only as hashes, so the time that a comparison takes tells
nothing about a key.
"""

import hashlib
import re
import secrets
from collections.abc import Sequence
from typing import Final

from uuid_utils import uuid7

from stagepost.clock import Clock
from stagepost.errors import Conflict
from stagepost.records import ApiKey
from stagepost.settings import Settings
from stagepost.store import Store
from stagepost.web.roles import FIRST_TENANT, Role

_TEXT: Final = re.compile(r"sp_live_[A-Za-z0-9_-]{32,128}")
_FRESH: Final = 1.0  # seconds for which a found key is believed; with the sweep of streams, under 2
_REMEMBERED: Final = 10_000


def new_text() -> str:
    """A new key; it is shown once."""
    return f"sp_live_{secrets.token_urlsafe(32)}"


def hash_of(text: str) -> str:
    """What is kept of a key."""
    return hashlib.sha256(text.encode()).hexdigest()


def api_key(
    text: str, *, name: str, tenant: str, roles: Sequence[str], user: str | None = None
) -> ApiKey:
    """A key as the store keeps it."""
    return ApiKey(str(uuid7()), name, tenant, tuple(roles), hash_of(text), user)


class Keyring:
    """Finds live keys; remembers one that it found for a second, never one that it did not."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._found: dict[str, tuple[float, ApiKey]] = {}

    async def find(self, text: str) -> ApiKey | None:
        """The live key with this text."""
        if not _TEXT.fullmatch(text):
            return None
        key_hash = hash_of(text)
        remembered = self._found.get(key_hash)
        now = self._clock.monotonic()
        if remembered is not None and now - remembered[0] < _FRESH:
            return remembered[1]
        key = await self._store.key(key_hash)
        if key is None:
            self._found.pop(key_hash, None)
            return None
        if len(self._found) >= _REMEMBERED:
            self._found.clear()
        self._found[key_hash] = (now, key)
        return key

    def forget(self) -> None:
        """Believe nothing that was found before: a key has just been revoked."""
        self._found.clear()

    async def live(self) -> frozenset[str]:
        """The hashes of all live keys."""
        return frozenset(key.hash for key in await self._store.keys(None))


async def bootstrap(store: Store, settings: Settings) -> str | None:
    """Give a store without keys its first one: an admin of tenant `default`.

    Returns the new key's text, to be printed once; None when there is nothing to print: keys are
    not in use, there are some, or the settings brought this one. Raises ValueError when the one
    from the settings can't be a key, Conflict when it was revoked before.
    """
    if "keys" not in settings.auth or await store.keys(None):
        return None
    text = settings.bootstrap_key or new_text()
    if not _TEXT.fullmatch(text):
        raise ValueError(
            'STAGEPOST_BOOTSTRAP_KEY is no key: write "sp_live_" and 32 to 128 random letters, '
            'digits, "-" or "_".'
        )
    key = api_key(text, name="bootstrap", tenant=FIRST_TENANT, roles=[Role.ADMIN.word])
    try:
        await store.add_key(key)
    except Conflict:
        # Another process that starts at the same time may have been first.
        if not await store.keys(None):
            raise
    return None if settings.bootstrap_key else text
