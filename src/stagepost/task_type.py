"""A registered type: its handler, its options, and what its input and result may be."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, SchemaValidator

from stagepost import codec
from stagepost.closed import UNKNOWN_FIELD, ClosedJsonSchema, no_such_field
from stagepost.errors import CodeChanged, Invalid
from stagepost.retry import Retry
from stagepost.upload import KNOWN, STORED, Known

_FROM_STORE: Final = {STORED: True}
_NO_FILE: Final = (
    'A file is missing: send it as the part "{name}" of a form, or the id of an upload; on the '
    "command line name the FILE."
)


@dataclass(frozen=True, slots=True)
class TaskType:
    """One registered type. `timeout` and `ttl` (the default deadline) are seconds.

    `concurrency` is how many of its tasks run at once in the whole fleet, None for any number.
    """

    name: str
    handler: Callable[..., Any]
    lane: str
    timeout: float
    ttl: float
    retry: Retry
    killable: bool
    concurrency: int | None
    input: TypeAdapter[Any]
    callers_input: SchemaValidator
    input_class: type[BaseModel] | None
    output: TypeAdapter[Any] | None
    output_class: type[BaseModel] | None
    versions: tuple[int, ...] = (1,)
    """Of its code: its own first, then the others whose tasks it can finish."""
    holds_unknown: bool = False
    """A call to a model whose outcome nobody knows is not paid for again: it ends the task."""

    def parse(self, value: Any, known: Known | None = None) -> Any:
        """A caller's input, validated. Raises Invalid, naming each field at fault.

        A field that does not exist is a fault, unless its model says `extra` itself.
        """
        if self.input_class is not None and type(value) is self.input_class:
            return value
        try:
            return self.callers_input.validate_python(value, context={KNOWN: known})
        except ValidationError as error:
            raise self._invalid(error) from error

    def dump(self, value: Any) -> str:
        """A validated input as the JSON text that is kept. Raises Invalid for what is no JSON.

        JSON has no NaN and no infinities: they become null, and are refused where null does not
        fit.
        """
        try:
            text = self.input.serializer.to_json(value, by_alias=True).decode()
        except (PydanticSerializationError, UnicodeError) as error:
            fault = f"does not serialise to JSON: {error}"
            raise Invalid(f"The input of {self.name} {fault}.", [((), fault)]) from error
        if "null" in text:
            self._check_nulls(text)
        return text

    def _check_nulls(self, text: str) -> None:
        try:
            self.input.validator.validate_json(text, context=_FROM_STORE)
        except ValidationError as error:
            raise self._invalid(error) from error

    def load(self, text: str) -> Any:
        """A kept input, as the handler gets it. Raises CodeChanged when it fits no more."""
        try:
            return self.input.validator.validate_json(text, context=_FROM_STORE)
        except ValidationError as error:
            raise CodeChanged(
                f"The input was accepted by an earlier version of {self.name} and does not fit "
                "this one; redrive the task with a corrected input."
            ) from error

    def dump_result(self, value: Any) -> str:
        """What the handler returned, as JSON text.

        Raises TypeError when it does not serialise or does not fit the handler's return annotation,
        ValueError for more than 16 MiB.
        """
        text = codec.dump(self.output, value, self.name)
        if self.output is not None and type(value) is not self.output_class:
            try:
                self.output.validate_json(text, context=_FROM_STORE)
            except ValidationError as error:
                raise TypeError(
                    f"The result of {self.name} does not fit its return annotation: {error}"
                ) from error
        return text

    def input_schema(self) -> Mapping[str, Any]:
        """The input's JSON Schema."""
        return self.input.json_schema(
            ref_template="#/components/schemas/{model}", schema_generator=ClosedJsonSchema
        )

    def _invalid(self, error: ValidationError) -> Invalid:
        faults = [
            (fault["loc"], self._fault(fault["type"], fault["loc"], fault["msg"]))
            for fault in error.errors(include_url=False, include_input=False)
        ]
        return Invalid(f"The input does not fit the task type {self.name}.", faults)

    def _fault(self, kind: str, location: Sequence[str | int], message: str) -> str:
        if len(location) != 1:
            return "There is no such field." if kind in UNKNOWN_FIELD else message
        name = str(location[0])
        if kind in UNKNOWN_FIELD:
            return no_such_field(self.field_names())
        return _NO_FILE.format(name=name) if kind == "missing" and self._is_file(name) else message

    def field_names(self) -> Sequence[str]:
        """The input's own fields, as a caller names them; none where it is no object."""
        return tuple(self._fields())

    def file_names(self) -> Sequence[str]:
        """Those of them that take a file."""
        return tuple(name for name in self._fields() if self._is_file(name))

    def _fields(self) -> Mapping[str, Any]:
        schema = self.input_schema()
        name = str(schema.get("$ref", "")).rpartition("/")[2]
        fields: Mapping[str, Any] = schema.get("$defs", {}).get(name, schema).get("properties", {})
        return fields

    def _is_file(self, name: str) -> bool:
        # An Upload, a list of them, or one of several possibilities, wherever its schema stands.
        field = repr(self._fields().get(name, {}))
        return "/Upload'" in field or "'binary'" in field
