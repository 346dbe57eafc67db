"""Which handler runs a task type, and with which options."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pydantic import BaseModel, PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, SchemaValidator

from stagepost import codec, versions
from stagepost.closed import ClosedJsonSchema, closed_validator
from stagepost.errors import CodeChanged, Invalid, UnknownType
from stagepost.retry import Retry, seconds
from stagepost.rules import MOST_CONCURRENCY
from stagepost.upload import KNOWN, STORED, Known

Handler = TypeVar("Handler", bound=Callable[..., Any])

_TYPE: Final = re.compile(r"[a-z][a-z0-9-]{0,62}")
_TAKEN: Final = frozenset({"cancel"})
"""What stands behind /api/v1/tasks/ and is no type."""
_LANE: Final = re.compile(r"[a-z][a-z0-9-]{0,62}")


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
            return "There is no such field." if kind in _UNKNOWN_FIELD else message
        name = str(location[0])
        if kind in _UNKNOWN_FIELD:
            known = ", ".join(self.field_names())
            return (
                f"There is no such field; there are: {known}." if known else "There are no fields."
            )
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


_FROM_STORE: Final = {STORED: True}
_NO_FILE: Final = (
    'A file is missing: send it as the part "{name}" of a form, or the id of an upload; on the '
    "command line name the FILE."
)
_UNKNOWN_FIELD: Final = frozenset({"extra_forbidden", "unexpected_keyword_argument"})
_UNTYPED: Final = (inspect.Signature.empty, None)


class App:
    """A set of task types. Handlers are registered with `@app.task("type")`."""

    def __init__(self) -> None:
        self._types: dict[str, TaskType] = {}

    def task(
        self,
        type: str,  # noqa: A002  # the word that users know
        *,
        lane: str = "interactive",
        timeout: float | str = "30m",
        deadline: float | str = "24h",
        retry: Retry | None = None,
        cpu: bool = False,
        concurrency: int | None = None,
        version: int = 1,
        accepts: Iterable[int] = (),
    ) -> Callable[[Handler], Handler]:
        """Register the decorated function as the handler of a type.

        It takes a Context and one annotated input, and may be `async`. `timeout` is the running
        time of one claim; `deadline` the time from submit until the task must be done. A sync
        handler, and with `cpu=True` any, runs in a process of its own that can be killed; it must
        stand at the top level of its module. `concurrency` is how many tasks of the type run at
        once on all workers together; an operator may set another number while they run.
        stand at the top level of its module.

        `version` is raised when a change of the handler would not fit the saved steps of tasks that
        are in the middle. A task keeps the version that first claimed it, and is taken only by
        workers whose `version` or `accepts` has it.
        """

        def register(handler: Handler) -> Handler:
            self._add(
                describe(
                    type,
                    handler,
                    lane=lane,
                    timeout=timeout,
                    deadline=deadline,
                    retry=retry,
                    cpu=cpu,
                    concurrency=concurrency,
                    version=version,
                    accepts=accepts,
                )
            )
            return handler

        return register

    @property
    def types(self) -> Mapping[str, TaskType]:
        """The registered types by name."""
        return self._types

    @property
    def versions(self) -> Mapping[str, tuple[int, ...]]:
        """By type: the versions of its code that run here, its own first."""
        return {name: task_type.versions for name, task_type in self._types.items()}

    def get(self, name: str) -> TaskType:
        """A type. Raises UnknownType."""
        try:
            return self._types[name]
        except KeyError:
            known = ", ".join(sorted(self._types)) or "none"
            raise UnknownType(f'There is no task type "{name}"; there are: {known}.') from None

    def include(self, other: "App") -> None:
        """Take over all types of another App. Raises ValueError for one that is there already."""
        for task_type in other.types.values():
            self._add(task_type)

    def _add(self, task_type: TaskType) -> None:
        if task_type.name in self._types:
            raise ValueError(f'The task type "{task_type.name}" is registered twice.')
        self._types[task_type.name] = task_type


def describe(
    name: str,
    handler: Callable[..., Any],
    *,
    lane: str = "interactive",
    timeout: float | str = "30m",
    deadline: float | str = "24h",
    retry: Retry | None = None,
    cpu: bool = False,
    concurrency: int | None = None,
    version: int = 1,
    accepts: Iterable[int] = (),
) -> TaskType:
    """A type with this handler. Raises ValueError and TypeError for what can't be one."""
    if not _TYPE.fullmatch(name):
        raise ValueError(f'"{name}" is no task type: use a-z, 0-9 and "-", 63 characters at most.')
    if name in _TAKEN:
        raise ValueError(f'"{name}" is an address of the API; call the task type otherwise.')
    if not _LANE.fullmatch(lane):
        raise ValueError(f'"{lane}" is no lane: use a-z, 0-9 and "-", 63 characters at most.')
    if concurrency is not None and not 1 <= concurrency <= MOST_CONCURRENCY:
        raise ValueError(f"The concurrency of {name} is a number from 1 to {MOST_CONCURRENCY}.")
    killable = cpu or not inspect.iscoroutinefunction(handler)
    if killable and "<locals>" in handler.__qualname__:
        raise ValueError(
            f"{handler.__qualname__} runs in a process of its own, which must find it by name: "
            "move it to the top level of its module."
        )
    annotation, returns = _annotations(handler)
    adapter = _adapter(handler, annotation)
    return TaskType(
        name=name,
        handler=handler,
        lane=lane,
        timeout=seconds(timeout),
        ttl=seconds(deadline),
        retry=retry or Retry(),
        killable=killable,
        concurrency=concurrency,
        input=adapter,
        callers_input=closed_validator(adapter),
        input_class=_model(annotation),
        output=None if returns in _UNTYPED else _adapter(handler, returns),
        output_class=_model(returns),
        versions=versions.checked(name, version, accepts),
    )


def _annotations(handler: Callable[..., Any]) -> tuple[Any, Any]:
    try:
        signature = inspect.signature(handler, eval_str=True)
    except NameError as error:
        raise TypeError(
            f"The annotations of {handler.__qualname__} can't be read ({error}); define its models "
            "at the top level of the module, before the handler."
        ) from error
    parameters = list(signature.parameters.values())
    if len(parameters) != 2 or parameters[1].annotation is inspect.Parameter.empty:
        raise TypeError(
            f"{handler.__qualname__} must take a Context and one input with an annotation: "
            "async def handler(ctx: Context, request: MyInput) -> MyOutput."
        )
    return parameters[1].annotation, signature.return_annotation


def _model(annotation: Any) -> type[BaseModel] | None:
    # An instance of a model was validated when it was made.
    is_model = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return annotation if is_model else None


def _adapter(handler: Callable[..., Any], annotation: Any) -> TypeAdapter[Any]:
    try:
        return codec.adapter_of(annotation)
    except PydanticUserError as error:
        raise TypeError(
            f"{handler.__qualname__} is annotated with {annotation!r}, which Pydantic can't "
            f"validate: {error.message}"
        ) from error
