"""The files of a provider: inputs and outputs of its batches, kept in memory within bounds."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from stagepost.clock import Clock
from stagepost.simulated.asked import BadRequest

MOST_FILE: Final = 32 * 1024 * 1024
"""Bytes of one file."""
MOST_FILES: Final = 1_000
_MOST_ALL: Final = 512 * 1024 * 1024


class NoSuchThing(BadRequest):
    """There is no file or batch of that id."""


@dataclass(frozen=True, slots=True)
class File:
    """One of them; `made` is in seconds since 1970."""

    id: str
    name: str
    purpose: str
    content: bytes
    made: int

    def told(self) -> Mapping[str, Any]:
        """As OpenAI tells it."""
        return {
            "id": self.id, "object": "file", "bytes": len(self.content), "created_at": self.made,
            "expires_at": None, "filename": self.name, "purpose": self.purpose,
            "status": "processed", "status_details": None,
        }  # fmt: skip


@dataclass(slots=True)
class Files:
    """All of them."""

    clock: Clock
    _by_id: dict[str, File] = field(default_factory=dict, init=False)
    _bytes: int = field(default=0, init=False)

    def put(self, name: str, purpose: str, content: bytes) -> File:
        """Keep a file. Raises BadRequest where there is no room."""
        full = len(self._by_id) >= MOST_FILES or self._bytes + len(content) > _MOST_ALL
        if full:
            raise BadRequest("This provider has no room for more files; delete some.")
        identity = f"file-{secrets.token_hex(12)}"
        found = File(identity, name[:200], purpose[:50], content, self.clock.now() // 1000)
        self._by_id[identity] = found
        self._bytes += len(content)
        return found

    def get(self, identity: str) -> File:
        """One of them. Raises NoSuchThing."""
        found = self._by_id.get(identity)
        if found is None:
            raise NoSuchThing(f"No such File object: {identity[:100]}", "id")
        return found

    def delete(self, identity: str) -> None:
        """Keep it no longer. Raises NoSuchThing."""
        self._bytes -= len(self.get(identity).content)
        del self._by_id[identity]
