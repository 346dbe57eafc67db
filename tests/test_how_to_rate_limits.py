"""The example of docs/how-to/rate-limits.md runs as it stands."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from stagepost.outcome import Succeeded
from stagepost.testing import always_replay, run_task

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "rate-limits.md"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    (source,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    module = ModuleType("docs_example")
    monkeypatch.setitem(sys.modules, "docs_example", module)
    exec(compile(source, "docs_example", "exec"), module.__dict__)
    return module


async def test_it_comes_to_its_result_from_every_checkpoint(example: ModuleType) -> None:
    done = await always_replay(example.app, "read-book", {"pages": ["one", "two"]})
    assert isinstance(done.outcome, Succeeded), done.error
    assert done.result == ["One Two"]


async def test_a_test_sees_the_units_that_were_taken(example: ModuleType) -> None:
    first = await run_task(example.app, "read-book", {"pages": ["one", "two"]})
    assert first.units == {"ocr-pages": 2, "api": 2, "gpu": 1}
    again = await run_task(
        example.app, "read-book", {"pages": ["one", "two"]}, checkpoints=first.checkpoints
    )
    assert again.units == {}
