"""Task types: what an input must be to be kept."""

from typing import Any

import pytest
from pydantic import BaseModel

from stagepost import App, Context
from stagepost.errors import Invalid

app = App()


async def a_handler(ctx: Context, request: int) -> None: ...


class Reading(BaseModel):
    degrees: float = 0.0
    trend: float | None = None


@app.task("reading")
async def reading(ctx: Context, request: Reading) -> None: ...


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", float("nan"), float("inf")])
def test_a_number_that_json_does_not_have_is_refused_at_submit(number: object) -> None:
    task_type = app.get("reading")
    with pytest.raises(Invalid) as refused:
        task_type.dump(task_type.parse({"degrees": number}))
    assert refused.value.errors[0][0] == ("degrees",)


def test_where_null_fits_it_becomes_null() -> None:
    task_type = app.get("reading")
    text = task_type.dump(task_type.parse({"degrees": 20.5, "trend": "nan"}))
    assert task_type.load(text) == Reading(degrees=20.5)


def test_a_type_knows_the_versions_of_its_code() -> None:
    plain, later = App(), App()
    plain.task("reading")(a_handler)
    later.task("reading", version=4, accepts=[2, 4, 3, 3])(a_handler)
    assert plain.versions == {"reading": (1,)}
    assert later.versions == {"reading": (4, 2, 3)}


@pytest.mark.parametrize("options", [
    {"version": 0}, {"version": -1}, {"version": True}, {"version": "2"}, {"version": 10**7},
    {"accepts": [0]}, {"accepts": range(2, 40)}, {"accepts": ["1"]},
])  # fmt: skip
def test_what_can_be_no_version_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError), match="reading"):
        App().task("reading", **options)(a_handler)


def test_a_name_that_is_an_address_of_the_api_is_no_type() -> None:
    app = App()
    with pytest.raises(ValueError, match="call the task type otherwise"):

        @app.task("cancel")
        async def cancel(_ctx: Context) -> None: ...
