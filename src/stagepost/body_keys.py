"""Encryption of the ledger's texts: AES-256-GCM, each text under a key of its own.

That key is kept beside the text, encrypted under one of the keys that are set. So a key that is set
encrypts little, and what it has encrypted can be told by its id.
"""

import base64
import binascii
import os
import re
from collections.abc import Mapping
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from stagepost.body_codec import ENCRYPTED
from stagepost.errors import BodyUnreadable

_KEY: Final = 32  # bytes
_NONCE: Final = 12
_WRAPPED: Final = _NONCE + _KEY + 16
_ID: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_MOST: Final = 1_000


class BodyKeys:
    """Keys by their ids, the last one the newest: it encrypts, and all of them decrypt."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        self._keys = {name: AESGCM(key) for name, key in keys.items()}
        self._newest = list(keys)[-1]

    def encrypted(self, text: str, sha256: str) -> str:
        """`stagepost-aes-gcm-1:ID:BASE64`: the wrapped key of the text, then the text."""
        key = os.urandom(_KEY)
        bound = _bound(self._newest, sha256)
        wrapped = _lock(self._keys[self._newest], key, bound)
        content = wrapped + _lock(AESGCM(key), text.encode(), bound)
        return f"{ENCRYPTED}{self._newest}:{base64.b64encode(content).decode()}"

    def decrypted(self, text: str, sha256: str) -> str:
        """The text. Raises BodyUnreadable for a missing key, a wrong one, and a changed text."""
        name, _, packed = text.removeprefix(ENCRYPTED).partition(":")
        key = self._keys.get(name)
        if key is None:
            raise BodyUnreadable(
                f'A text of the ledger is encrypted with the key "{name[:64]}", which is not set: '
                "add it to STAGEPOST_BODY_KEYS or its file, before the newest."
            )
        bound = _bound(name, sha256)
        try:
            content = base64.b64decode(packed, validate=True)
            own = AESGCM(_unlock(key, content[:_WRAPPED], bound))
            return _unlock(own, content[_WRAPPED:], bound).decode()
        except (InvalidTag, ValueError) as error:
            raise BodyUnreadable(
                f'A text of the ledger can\'t be decrypted with the key "{name}": either this is '
                "another key of that id, or the text was changed; set the key it was written with."
            ) from error


def keys_of(text: str) -> Mapping[str, bytes]:
    """Keys from `ID:BASE64`, separated by commas or lines; `#` begins a comment.

    Raises ValueError, in whose text no key is.
    """
    keys: dict[str, bytes] = {}
    lines = (line.partition("#")[0] for line in text.splitlines())
    for part in ",".join(lines).split(","):
        if not part.strip():
            continue
        name, _, packed = part.strip().partition(":")
        key = _decoded(packed)
        if not _ID.fullmatch(name) or name in keys or len(key) != _KEY or len(keys) >= _MOST:
            raise ValueError(
                f"Key {len(keys) + 1} of the body keys can't be used: write ID:BASE64, each id "
                "once and of letters, digits, _, . and -, with 32 random bytes, as of openssl rand "
                "-base64 32."
            )
        keys[name] = key
    if not keys:
        raise ValueError("There are no body keys: write ID:BASE64, or unset the variable.")
    return keys


def _decoded(packed: str) -> bytes:
    try:
        return base64.b64decode(packed, validate=True)
    except binascii.Error:
        return b""


def _bound(name: str, sha256: str) -> bytes:
    """What a text is bound to: moved to another row it can't be decrypted."""
    return f"{ENCRYPTED}{name}:{sha256}".encode()


def _lock(key: AESGCM, content: bytes, bound: bytes) -> bytes:
    nonce = os.urandom(_NONCE)
    return nonce + key.encrypt(nonce, content, bound)


def _unlock(key: AESGCM, content: bytes, bound: bytes) -> bytes:
    return key.decrypt(content[:_NONCE], content[_NONCE:], bound)
