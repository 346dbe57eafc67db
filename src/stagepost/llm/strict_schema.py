"""The part of JSON Schema that providers hold a model to: OpenAI's strict mode. Pure.

There each object names all its properties, all of them are required, and none may be added; most
rules on values are unknown. What is left out (lengths, bounds, patterns) is told in the description
instead, and checked when the answer is there.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

_KEPT: Final = ("type", "enum", "const", "description")
_TOLD: Final = (
    "minLength", "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems",
)  # fmt: skip
_BEYOND: Final = (
    "allOf", "not", "if", "prefixItems", "patternProperties", "propertyNames", "dependentRequired",
    "dependentSchemas", "contains", "unevaluatedProperties",
)  # fmt: skip
_DEPTH: Final = 64


class _Beyond(Exception):
    """The schema says what strict mode can't."""


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The same in strict mode's words; None where they don't suffice (free keys, tuples, Any)."""
    try:
        found = _strict(schema, _DEPTH)
        if definitions := schema.get("$defs"):
            found["$defs"] = {name: _strict(each, _DEPTH) for name, each in definitions.items()}
    except _Beyond:
        return None
    return found


def _strict(schema: Any, depth: int) -> dict[str, Any]:
    if depth == 0 or not isinstance(schema, Mapping) or any(key in schema for key in _BEYOND):
        raise _Beyond
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}
    found = {key: schema[key] for key in _KEPT if key in schema}
    _tell(found, schema)
    choices = schema.get("anyOf", schema.get("oneOf"))
    if choices is not None:
        found["anyOf"] = [_strict(each, depth - 1) for each in choices]
    elif not {"type", "enum", "const"} & schema.keys():
        raise _Beyond
    match schema.get("type"):
        case "object":
            found |= _object(schema, depth)
        case "array":
            found["items"] = _strict(schema.get("items"), depth - 1)
    return found


def _object(schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
    if schema.get("additionalProperties", False) is not False:
        raise _Beyond
    properties = schema.get("properties", {})
    return {
        "properties": {name: _strict(each, depth - 1) for name, each in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }


def _tell(found: dict[str, Any], schema: Mapping[str, Any]) -> None:
    rules = [f"{key}: {schema[key]}" for key in _TOLD if key in schema]
    if rules:
        found["description"] = " ".join(
            _texts([schema.get("description"), f"({'; '.join(rules)})"])
        )


def _texts(values: Sequence[Any]) -> Iterable[str]:
    return (value for value in values if isinstance(value, str))
