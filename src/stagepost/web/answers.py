"""What the routes share: how they are declared, what they take, how they answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import isclass
from typing import Annotated, Any, TypeVar, get_args

import orjson
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails
from starlette.requests import Request
from starlette.responses import Response

from stagepost.closed import UNKNOWN_FIELD, no_such_field
from stagepost.web.exchange import Identity, exchange_of
from stagepost.web.keepable import check_text
from stagepost.web.options import parse_instant
from stagepost.web.problems import Kind, Problem, invalid, pointer, sentence

Item = TypeVar("Item")
Model = TypeVar("Model", bound=BaseModel)


def _instant(value: Any) -> int:
    if isinstance(value, str):
        try:
            return parse_instant(value)
        except (ValueError, OverflowError):
            pass
    raise ValueError("write an RFC 3339 instant such as 2026-01-31T08:00:00Z")


class Strict(BaseModel):
    """Query parameters or a JSON body; what it does not know, or no store can keep, is refused."""

    model_config = ConfigDict(
        extra="forbid", alias_generator=to_camel, validate_by_name=False, frozen=True
    )

    @field_validator("*")
    @classmethod
    def _can_be_kept(cls, value: Any, info: ValidationInfo) -> Any:
        kind = cls.model_fields[info.field_name or ""].annotation
        # A task's input is any JSON, and is kept as JSON, where every character can be written.
        if kind is not Any and Any not in get_args(kind):
            check_text(value)
        return value


class Page(Strict):
    """Which part of a list: behind the key `after`, so many items at most."""

    after: str | None = Field(default=None, min_length=1, max_length=512)
    limit: int = Field(default=50, ge=1, le=200)


Instant = Annotated[
    int,
    BeforeValidator(_instant),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""An RFC 3339 instant, as ms since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One route: where, what runs, and what its document says beside the endpoint's docstring.

    `answers` maps each good status to the shape of its body, or to None where there is none;
    `problems` are the statuses of its refusals beside those that every route has. `body` is the
    model of a JSON body, `form` the schema of a multipart one; `lines`: JSON Lines do as well.
    """

    method: str
    path: str
    endpoint: Callable[..., Any]
    answers: Mapping[int, Any]
    problems: Sequence[int] = ()
    body: type[BaseModel] | None = None
    body_required: bool = True
    form: Mapping[str, Any] | None = None
    lines: bool = False
    media_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


def reads(path: str, endpoint: Callable[..., Any], shape: Any, *problems: int) -> Operation:
    """A GET that answers with this shape."""
    return Operation(
        method="GET", path=path, endpoint=endpoint, answers={200: shape}, problems=problems
    )


def answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer."""
    return Response(orjson.dumps(value), status, headers, "application/json")


def validated(model: type[Model], value: Any) -> Model:
    """A JSON body as its model. Raises Problem, naming each field at fault."""
    if not isinstance(value, dict):
        raise invalid("Send a JSON object.", pointer="#")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        faults = [
            {"detail": _fault(model, fault), "pointer": pointer(fault["loc"])}
            for fault in error.errors(include_url=False)
        ]
        raise Problem(Kind.VALIDATION, "The body is not valid.", faults=faults) from error


def _fault(model: type[BaseModel], fault: ErrorDetails) -> str:
    if fault["type"] not in UNKNOWN_FIELD:
        return sentence(fault["msg"])
    inner: type[BaseModel] | None = model
    for name in fault["loc"][:-1]:
        inner = None if inner is None else _model_at(inner, name)
    return "There is no such field." if inner is None else no_such_field(_aliases(inner))


def _aliases(model: type[BaseModel]) -> Sequence[str]:
    return [about.alias or name for name, about in model.model_fields.items()]


def _model_at(model: type[BaseModel], alias: str | int) -> type[BaseModel] | None:
    """The model of a field, where it has one and no other."""
    for name, about in model.model_fields.items():
        if alias == (about.alias or name):
            kinds = get_args(about.annotation) or (about.annotation,)
            found = [each for each in kinds if isclass(each) and issubclass(each, BaseModel)]
            return found[0] if len(found) == 1 else None
    return None


def sliced(
    items: Sequence[Item], key: Callable[[Item], str], page: Page
) -> tuple[Sequence[Item], str | None]:
    """A page of a short list that is all in memory, by its key, and the key to go on behind."""
    ordered = sorted(items, key=key)
    if page.after is not None:
        ordered = [item for item in ordered if key(item) > page.after]
    chosen = ordered[: page.limit]
    return chosen, key(chosen[-1]) if len(ordered) > page.limit else None


def identity_of(request: Request) -> Identity:
    """Who asks."""
    return exchange_of(request.scope).identity
