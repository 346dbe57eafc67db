"""Inputs that refuse fields which nobody declared, so that a typo is not lost without a word.

Pydantic ignores what a model does not know unless the model says `extra`. From callers we want the
opposite: unknown is refused at every depth, unless the model says `extra` itself. The `extra=` of
Pydantic's own validate functions would overrule those models too.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import CoreSchema, SchemaValidator, core_schema

_NO_SCHEMAS: Final = frozenset({"cls", "config", "default", "metadata", "serialization"})
_EXTRA: Final = "extra_fields_behavior"


UNKNOWN_FIELD: Final = frozenset({"extra_forbidden", "unexpected_keyword_argument"})
"""Pydantic's names for the fault of a field that nobody declared."""


def no_such_field(known: Iterable[str]) -> str:
    """What a caller is told of a field that nobody declared, beside those that are there."""
    told = ", ".join(known)
    return f"There is no such field; there are: {told}." if told else "There are no fields."


def closed_validator(adapter: TypeAdapter[Any]) -> SchemaValidator:
    """Validates as `adapter` does, and refuses unknown fields of models that don't say `extra`."""
    # The validators that models hold ready are the open ones.
    return SchemaValidator(cast("CoreSchema", _closed(adapter.core_schema)), _use_prebuilt=False)


def _closed(schema: Any) -> Any:
    if isinstance(schema, list | tuple):
        return type(schema)(_closed(each) for each in schema)
    if not isinstance(schema, Mapping):
        return schema
    copy = {name: part if name in _NO_SCHEMAS else _closed(part) for name, part in schema.items()}
    match schema.get("type"):
        case "model" | "dataclass" if not schema.get("root_model"):
            copy["config"] = {_EXTRA: "forbid", **schema.get("config", {})}
        case "typed-dict" if _EXTRA not in schema.get("config", {}):
            copy["extra_behavior"] = "forbid"
    return copy


class ClosedJsonSchema(GenerateJsonSchema):
    """The JSON Schema of what `closed_validator` takes."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """A model."""
        return _told(schema, super().model_schema(schema))

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """A dataclass."""
        return _told(schema, super().dataclass_schema(schema))

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        """A TypedDict."""
        return _told(schema, super().typed_dict_schema(schema))


def _told(schema: Mapping[str, Any], found: JsonSchemaValue) -> JsonSchemaValue:
    if found.get("type") == "object" and _EXTRA not in schema.get("config", {}):
        found.setdefault("additionalProperties", False)
    return found
