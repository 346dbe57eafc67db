"""Task types: what an input must be to be kept."""

import pytest
from pydantic import BaseModel

from stagepost import App, Context
from stagepost.errors import Invalid

app = App()


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


def test_a_name_that_is_an_address_of_the_api_is_no_type() -> None:
    app = App()
    with pytest.raises(ValueError, match="call the task type otherwise"):

        @app.task("cancel")
        async def cancel(_ctx: Context) -> None: ...
