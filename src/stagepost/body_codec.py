"""Between the texts of requests and answers and what the ledger keeps of them.

A text is redacted first, if that is wanted, and then encrypted, if there are keys. Hash and size
are those of the text between the two.
"""

import hashlib
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

import orjson

from stagepost.errors import BodyUnreadable

ENCRYPTED: Final = "stagepost-aes-gcm-1:"
"""How an encrypted text begins; a plain one is JSON, and never does."""

Redact = Callable[[str], str]
"""What is kept of each text in a request or an answer."""


class Kept(NamedTuple):
    """A text as it is kept. `sha256` and `size`, in bytes, are those before it was encrypted."""

    text: str
    sha256: str
    size: int
    redacted: bool


class KeyRing(Protocol):
    """Keys, old and new."""

    def encrypted(self, text: str, sha256: str) -> str:
        """The text under the newest key, bound to its hash."""
        ...

    def decrypted(self, text: str, sha256: str) -> str:
        """And back, by whichever key it was. Raises BodyUnreadable."""
        ...


class BodyCodec:
    """Without a ring texts are kept as they are, without `redact` word for word."""

    def __init__(self, ring: KeyRing | None = None, redact: Redact | None = None) -> None:
        self._ring = ring
        self._redact = redact

    def kept(self, text: str) -> Kept:
        """What to keep of a JSON text.

        Whatever `redact` raises is raised: nothing is kept that it has not seen.
        """
        plain = text if self._redact is None else _redacted(text, self._redact)
        content = plain.encode()
        sha256 = hashlib.sha256(content).hexdigest()
        stored = plain if self._ring is None else self._ring.encrypted(plain, sha256)
        return Kept(stored, sha256, len(content), redacted=plain != text)

    def read(self, stored: str, sha256: str) -> str:
        """The text that was kept, also from before there were keys. Raises BodyUnreadable."""
        if not stored.startswith(ENCRYPTED):
            return stored
        if self._ring is None:
            raise BodyUnreadable(
                "A text of the ledger is encrypted and no keys are set: set STAGEPOST_BODY_KEYS or "
                "STAGEPOST_BODY_KEYS_FILE as where it was written."
            )
        return self._ring.decrypted(stored, sha256)


PLAIN: Final = BodyCodec()
"""Keeps texts as they are."""


def _redacted(text: str, redact: Redact) -> str:
    """Only the texts inside change, so that what is kept can be read as before."""
    whole = orjson.loads(text)
    changed = _each(whole, redact)
    return text if changed == whole else orjson.dumps(changed).decode()


def _each(value: Any, redact: Redact) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_each(one, redact) for one in value]
    if isinstance(value, dict):
        return {name: _each(one, redact) for name, one in value.items()}
    return value
