"""Between a step's values and the JSON that is kept of them."""

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Final

import orjson
from pydantic import PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from stagepost.upload import STORED

LARGEST: Final = 16 * 1024 * 1024
"""Bytes of JSON that a step may return."""

_CONTEXT: Final = {STORED: True}


def digest(arguments: Sequence[Any], named: Mapping[str, Any]) -> str:
    """The SHA-256 of a step's arguments. Raises TypeError for what does not serialise."""
    try:
        plain = to_jsonable_python([_ordered(arguments), _ordered(named)], by_alias=True)
    except PydanticSerializationError as error:
        raise TypeError(
            f"A step's arguments must serialise to JSON ({error}); pass data, and use a closure "
            "for what is no data."
        ) from error
    canonical = orjson.dumps(plain, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    return hashlib.sha256(canonical).hexdigest()


def _ordered(value: Any) -> Any:
    # The order of a set differs from process to process; a digest must not.
    match value:
        case set() | frozenset():
            return sorted((_ordered(item) for item in value), key=repr)
        case dict():
            return {key: _ordered(item) for key, item in value.items()}
        case list() | tuple():
            return [_ordered(item) for item in value]
        case _:
            return value


def encode(fn: Callable[..., Any], value: Any) -> str:
    """A step's result as JSON text. Raises TypeError, and ValueError for more than 16 MiB."""
    adapter = _adapter(fn)
    try:
        text = to_json(value) if adapter is None else adapter.dump_json(value, by_alias=True)
    except PydanticSerializationError as error:
        raise TypeError(f"The result of {_name(fn)} must serialise to JSON ({error}).") from error
    if len(text) > LARGEST:
        raise ValueError(
            f"The result of {_name(fn)} has {len(text)} bytes of JSON, the limit is {LARGEST}; "
            "save it as an artifact and return its name."
        )
    return text.decode()


def decode(fn: Callable[..., Any], text: str) -> Any:
    """What `encode` kept, as the function's return annotation says. Raises TypeError."""
    adapter = _adapter(fn)
    if adapter is None:
        return orjson.loads(text)
    try:
        return adapter.validate_json(text, context=_CONTEXT)
    except ValidationError as error:
        raise TypeError(
            f"The result of {_name(fn)} does not fit its return annotation: {error}"
        ) from error


def _adapter(fn: Callable[..., Any]) -> TypeAdapter[Any] | None:
    while isinstance(fn, partial):
        fn = fn.func
    if "return" not in getattr(fn, "__annotations__", {}):
        return None
    return _adapter_of(fn)


@lru_cache(maxsize=512)
def _adapter_of(fn: Callable[..., Any]) -> TypeAdapter[Any] | None:
    try:
        annotation = inspect.signature(fn, eval_str=True).return_annotation
        return TypeAdapter(annotation)
    except NameError as error:
        raise TypeError(f"The return annotation of {_name(fn)} can't be read: {error}.") from error
    except PydanticUserError as error:
        raise TypeError(
            f"The return annotation of {_name(fn)} can't be validated: {error.message}"
        ) from error


def _name(fn: Callable[..., Any]) -> str:
    return getattr(fn, "__qualname__", repr(fn))
