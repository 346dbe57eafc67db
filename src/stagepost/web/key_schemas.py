"""API keys, as they go over the wire."""

from typing_extensions import TypedDict


class KeyFacts(TypedDict):
    """What an API key is."""

    keyId: str
    name: str
    roles: list[str]
    user: str | None
    createdAt: str


class Key(KeyFacts):
    """An API key without its text, and whose it is."""

    tenant: str


class NewKey(KeyFacts):
    """An API key with its text, which is shown this once."""

    key: str
