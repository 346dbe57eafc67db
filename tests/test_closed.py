"""A field that nobody declared is refused at every depth, unless its model says `extra`."""

from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel
from typing_extensions import TypedDict

from stagepost import App, Context
from stagepost.errors import Invalid


class Inner(BaseModel):
    a: int = 0


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int = 0


class Careless(BaseModel):
    model_config = ConfigDict(extra="ignore")
    a: int = 0


class Lazy(BaseModel):
    model_config = ConfigDict(defer_build=True)
    a: int = 0


class Dictionary(TypedDict, total=False):
    a: int


class Root(RootModel[list[Inner]]):
    """A list by another name."""


@dataclass
class Plain:
    a: int = 0


class Outer(BaseModel):
    inner: Inner = Inner()
    listed: list[Inner] = []
    by_name: dict[str, Inner | None] = Field({}, alias="byName")
    opened: Open = Open()
    careless: Careless = Careless()
    lazy: Lazy | None = None
    dictionary: Dictionary = {}
    plain: Plain = Plain()
    root: Root = Root([])
    itself: "Outer | None" = None


app = App()


@app.task("outer")
async def outer(_ctx: Context, _request: Outer) -> None:
    """Takes everything."""


@app.task("lazy")
async def lazy(_ctx: Context, _request: Lazy) -> None:
    """Its model is built when it is needed."""


@app.task("careless")
async def careless(_ctx: Context, _request: Careless) -> None:
    """Its model has said that it does not care."""


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"x": 1}, ("x",)),
        ({"inner": {"x": 1}}, ("inner", "x")),
        ({"listed": [{}, {"x": 1}]}, ("listed", 1, "x")),
        ({"byName": {"n": {"x": 1}}}, ("byName", "n", "x")),
        ({"by_name": {}}, ("by_name",)),
        ({"lazy": {"x": 1}}, ("lazy", "x")),
        ({"dictionary": {"x": 1}}, ("dictionary", "x")),
        ({"plain": {"x": 1}}, ("plain", "x")),
        ({"root": [{"x": 1}]}, ("root", 0, "x")),
        ({"itself": {"itself": {"x": 1}}}, ("itself", "itself", "x")),
    ],
)
def test_an_unknown_field_is_refused_by_its_place(value: Any, place: tuple[str | int, ...]) -> None:
    with pytest.raises(Invalid) as refused:
        app.get("outer").parse(value)
    [(where, text)] = refused.value.errors
    assert where == place
    assert text.startswith("There is no such field")
    assert ("byName" in text) is (len(place) == 1)


def test_a_model_that_says_extra_itself_is_left_alone() -> None:
    parsed = app.get("outer").parse({"opened": {"x": 1}, "careless": {"x": 1}})
    assert parsed.opened.model_extra == {"x": 1}
    assert app.get("careless").parse({"a": 2, "x": 1}) == Careless(a=2)


def test_a_deferred_model_is_closed_too() -> None:
    assert app.get("lazy").parse({"a": 2}) == Lazy(a=2)
    with pytest.raises(Invalid):
        app.get("lazy").parse({"x": 2})


def test_a_kept_input_is_taken_as_it_was_accepted() -> None:
    assert app.get("outer").load('{"inner": {"a": 1, "removed": 2}}').inner == Inner(a=1)


def test_the_schema_tells_it() -> None:
    schema = app.get("outer").input_schema()
    told = {name: each.get("additionalProperties") for name, each in schema["$defs"].items()}
    assert told["Inner"] is told["Dictionary"] is told["Plain"] is told["Outer"] is False
    assert told["Open"] is True
    assert told["Careless"] is told["Root"] is None
