"""Seals and their chain, and how a seal is written where an anchor keeps it."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple

import orjson

from stagepost.audit.entries import Entry

START: Final = "0" * 64
"""What the first seal of a tenant is chained to."""

ENTRIES_MOST: Final = 500
"""Entries in one seal."""

_FORM: Final = "stagepost seal 1"


class Seal(NamedTuple):
    """The n-th seal of a tenant, from 1. `at` is the store's instant, in ms.

    `first` and `last` are the smallest and the largest id of a call in it. `digest` is over its
    entries, `chained` over the seal before it and all that is here.
    """

    tenant: str
    n: int
    at: int
    first: str
    last: str
    entries: int
    digest: str
    chained: str


class Mark(NamedTuple):
    """What an anchor's line says of a seal."""

    tenant: str
    n: int
    chained: str


def sealed(before: Seal | None, tenant: str, at: int, entries: Sequence[Entry]) -> Seal:
    """The seal of some entries, at least one and in their order, behind the seal `before`."""
    ids = [entry.call_id for entry in entries]
    n = 1 if before is None else before.n + 1
    bare = Seal(tenant, n, at, min(ids), max(ids), len(ids), digest_of(entries), "")
    return bare._replace(chained=chained(START if before is None else before.chained, bare))


def digest_of(entries: Sequence[Entry]) -> str:
    """SHA-256 of the JSON array of [call id, fact, digest], in hexadecimal."""
    return _hash([[each.call_id, each.fact.value, each.digest] for each in entries])


def chained(before: str, seal: Seal) -> str:
    """SHA-256 of the JSON array of a fixed word, the chain before, and the seal's other fields."""
    return _hash([_FORM, before, *seal[:-1]])


def line_of(seal: Seal) -> str:
    """A seal as an anchor keeps it: one line of JSON, without a line's end."""
    return orjson.dumps({"form": _FORM, **seal._asdict()}).decode()


def mark_of(line: str) -> Mark:
    """And back, as far as it is compared. Raises ValueError for what is no such line."""
    told: Any = orjson.loads(line)
    if not isinstance(told, dict) or told.get("form") != _FORM:
        raise ValueError("no seal")
    tenant, n, chain = told.get("tenant"), told.get("n"), told.get("chained")
    if isinstance(tenant, str) and type(n) is int and n >= 1 and isinstance(chain, str):
        return Mark(tenant, n, chain)
    raise ValueError("a seal without its tenant, number or chain")


def _hash(parts: Sequence[Any]) -> str:
    return sha256(orjson.dumps(parts)).hexdigest()
