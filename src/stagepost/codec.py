"""Between a step's values and the JSON that is kept of them."""

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import lru_cache, partial
from typing import Any, Final

import orjson
from pydantic import BaseModel, ConfigDict, PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import from_json, to_json, to_jsonable_python

from stagepost.upload import STORED

LARGEST: Final = 16 * 1024 * 1024
"""Bytes of JSON that a step or a handler may return."""

_CONTEXT: Final = {STORED: True}
_BYTES: Final = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")


def digest(arguments: Sequence[Any], named: Mapping[str, Any]) -> str:
    """The SHA-256 of a step's arguments. Raises TypeError for what does not serialise."""
    try:
        plain = _plain([arguments, named])
    except (ValueError, TypeError, RecursionError) as error:
        raise TypeError(
            f"A step's arguments must serialise to JSON ({error}); pass data, and use a closure "
            "for what is no data."
        ) from error
    return hashlib.sha256(_canonical(plain)).hexdigest()


def _canonical(plain: Any) -> bytes:
    try:
        return orjson.dumps(plain, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        # Integers over 64 bits and halves of surrogate pairs; slower, and knows both.
        return json.dumps(plain, sort_keys=True).encode()


def _plain(value: Any) -> Any:
    try:
        return to_jsonable_python(_ordered(value), by_alias=True, bytes_mode="base64")
    except (ValueError, TypeError):
        # A model may serialise as a whole although one of its fields alone does not.
        return to_jsonable_python(value, by_alias=True, bytes_mode="base64")


def _ordered(value: Any) -> Any:
    # The order of a set differs from process to process; a digest must not.
    match value:
        case str() | int() | float() | None:
            return value
        case set() | frozenset():
            return sorted((_ordered(item) for item in value), key=repr)
        case dict():
            return {key: _ordered(item) for key, item in value.items()}
        case list() | tuple():
            return [_ordered(item) for item in value]
        case BaseModel():
            return _ordered(value.model_dump(mode="python", by_alias=True))
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {field.name: _ordered(getattr(value, field.name)) for field in fields(value)}
        case _:
            return value


def encode(fn: Callable[..., Any], value: Any) -> str:
    """A step's result as JSON text. Raises TypeError, and ValueError for more than 16 MiB."""
    return dump(_adapter(fn), value, _name(fn))


def dump(adapter: TypeAdapter[Any] | None, value: Any, name: str) -> str:
    """A result as JSON text; `name` is whose. Raises TypeError, ValueError for over 16 MiB.

    What JSON has no number for (NaN, the infinities) becomes null.
    """
    try:
        if adapter is None:
            text = to_json(value, inf_nan_mode="null", bytes_mode="base64")
        else:
            text = adapter.serializer.to_json(value, by_alias=True, warnings=False)
    except (ValueError, TypeError, RecursionError) as error:
        raise TypeError(f"The result of {name} must serialise to JSON ({error}).") from error
    if len(text) > LARGEST:
        raise ValueError(
            f"The result of {name} has {len(text)} bytes of JSON, the limit is {LARGEST}; "
            "save it as an artifact and return its name."
        )
    return text.decode()


def decode(fn: Callable[..., Any], text: str) -> Any:
    """What `encode` kept, as the function's return annotation says. Raises TypeError."""
    adapter = _adapter(fn)
    if adapter is None:
        return from_json(text)
    try:
        return adapter.validate_json(text, context=_CONTEXT)
    except ValidationError as error:
        raise TypeError(
            f"The result of {_name(fn)} does not fit its return annotation: {error}"
        ) from error


def _adapter(fn: Callable[..., Any]) -> TypeAdapter[Any] | None:
    while isinstance(fn, partial):
        fn = fn.func
    annotation = getattr(fn, "__annotations__", {}).get("return", inspect.Signature.empty)
    if annotation is inspect.Signature.empty:
        return None
    try:
        if isinstance(annotation, str):
            annotation = inspect.get_annotations(fn, eval_str=True)["return"]
        return adapter_of(annotation)
    except NameError as error:
        raise TypeError(f"The return annotation of {_name(fn)} can't be read: {error}.") from error
    except PydanticUserError as error:
        raise TypeError(
            f"The return annotation of {_name(fn)} can't be validated: {error.message}"
        ) from error


def adapter_of(annotation: Any) -> TypeAdapter[Any]:
    """Between values of a type and JSON; bytes travel as base64. Raises PydanticUserError."""
    try:
        return _kept_adapter(annotation)
    except TypeError:
        return _new_adapter(annotation)  # it has no hash


def _new_adapter(annotation: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(annotation, config=_BYTES)
    except PydanticUserError as error:
        if error.code != "type-adapter-config-unused":
            raise
        return TypeAdapter(annotation)  # a model has a configuration of its own


# By annotation, not by function: a closure must not be kept alive by its adapter.
_kept_adapter: Final = lru_cache(maxsize=512)(_new_adapter)


def _name(fn: Callable[..., Any]) -> str:
    return getattr(fn, "__qualname__", repr(fn))
