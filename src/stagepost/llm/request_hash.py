"""The name of a request by its content: the ledger finds a call again by it (its memo key).

Two requests have one hash if and only if they ask the same: the same fields, in whatever order a
mapping has its keys, and numbers by their value. It does not depend on the SDK, the process or the
Python version. A field that is later added to the requests does not change the hash of those that
leave it at its default.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from stagepost.llm.provider import ChatRequest, EmbedRequest


def request_hash(request: ChatRequest | EmbedRequest) -> str:
    """SHA-256 over canonical JSON, as 64 hexadecimal digits.

    Raises TypeError and ValueError for what is no JSON (a set in `extra`, a NaN).
    """
    told = {"kind": type(request).__name__, **_plain(request)}
    # Escaped, so that halves of surrogate pairs have a hash too.
    text = json.dumps(told, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _plain(value: Any) -> Any:
    match value:
        case None | bool():
            return value
        case str():
            return str(value)
        case int():
            return int(value)
        case float():
            return _number(value)
        case Mapping():
            return {_key(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return _told(value)
    raise TypeError(f"A request holds JSON; a {type(value).__name__} is none.")


def _told(value: Any) -> dict[str, Any]:
    own = ((each, getattr(value, each.name)) for each in fields(value))
    return {each.name: _plain(item) for each, item in own if item != _default(each)}


def _default(each: "Field[Any]") -> Any:
    if each.default_factory is not MISSING:
        return each.default_factory()
    return each.default


def _number(value: float) -> float | int:
    if not math.isfinite(value):
        raise ValueError("A request holds JSON, which has no NaN and no infinity.")
    return int(value) if value.is_integer() else value


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"The keys of JSON are texts; a {type(key).__name__} is none.")
    return key
