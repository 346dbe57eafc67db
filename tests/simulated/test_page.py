"""docs/simulated-provider.md: its example runs, its tables are the code's."""

import json
import re
from pathlib import Path
from types import ModuleType

from pydantic import TypeAdapter

from stagepost.simulated import Step
from stagepost.simulated.faults import FAULTS

PAGE = (Path(__file__).parents[2] / "docs" / "simulated-provider.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


async def test_the_example_runs() -> None:
    [source] = blocks("python")
    module = ModuleType("example")
    exec(compile(source, "example", "exec"), module.__dict__)
    await module.test_no_call_is_paid_twice()


def test_the_script_is_one_and_every_key_is_told() -> None:
    [text] = blocks("json")
    steps = TypeAdapter(list[Step]).validate_python(json.loads(text))
    assert steps[0].contains == "clause 3"
    table = PAGE.partition("| key | |")[2].partition("\n\n")[0]
    told = {name for row in table.splitlines() for name in re.findall(r"^\| (.*?) \|", row)}
    names = {name for row in told for name in re.findall(r"`(\w+)`", row)}
    assert names == set(Step.model_fields)


def test_the_table_has_every_fault() -> None:
    rows = dict(re.findall(r"^\| `([\w-]+)` \| (.*) \|$", PAGE, re.MULTILINE))
    assert {name: rows.get(name) for name in FAULTS} == {
        name: fault.does for name, fault in FAULTS.items()
    }
