"""Which handler runs a task type, and with which options."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, TypeVar, get_args

from pydantic import BaseModel, PydanticUserError, TypeAdapter

from stagepost import codec, versions
from stagepost.closed import closed_validator
from stagepost.errors import UnknownType
from stagepost.retry import Retry, seconds
from stagepost.rules import MOST_CONCURRENCY
from stagepost.task_type import TaskType

Handler = TypeVar("Handler", bound=Callable[..., Any])

Unknown = Literal["pay-again", "hold"]

_TYPE: Final = re.compile(r"[a-z][a-z0-9-]{0,62}")
_TAKEN: Final = frozenset({"cancel"})
"""What stands behind /api/v1/tasks/ and is no type."""
_LANE: Final = re.compile(r"[a-z][a-z0-9-]{0,62}")
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
        unknown: Unknown = "pay-again",
    ) -> Callable[[Handler], Handler]:
        """Register the decorated function as the handler of a type.

        It takes a Context and one annotated input, and may be `async`. `timeout` is the running
        time of one claim; `deadline` the time from submit until the task must be done. A sync
        handler, and with `cpu=True` any, runs in a process of its own that can be killed; it must
        stand at the top level of its module. `concurrency` is how many tasks of the type run at
        once on all workers together; an operator may set another number while they run.

        `version` is raised when a change of the handler would not fit the saved steps of tasks that
        are in the middle. A task keeps the version that first claimed it, and is taken only by
        workers whose `version` or `accepts` has it.

        `unknown` says what becomes of a task whose worker died amid a call to a model, so that
        nobody knows whether the call was answered and charged: "pay-again" sends it anew, "hold"
        ends the task in dead letter, for a person to decide.
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
                    unknown=unknown,
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
    unknown: Unknown = "pay-again",
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
    if unknown not in get_args(Unknown):
        raise ValueError(f'"unknown" of {name} is "pay-again" or "hold".')
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
        holds_unknown=unknown == "hold",
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
