"""docs/how-to/waits.md: its examples run as they stand."""

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from stagepost import App
from stagepost.outcome import Waiting
from stagepost.testing import always_replay, run_task

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "waits.md"
SOURCES = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def apps(monkeypatch: pytest.MonkeyPatch) -> list[App]:
    made = []
    for number, source in enumerate(SOURCES):
        module: Any = ModuleType(f"howto_waits_{number}")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(source, module.__name__, "exec"), module.__dict__)
        made.append(module.app)
    return made


async def test_an_invoice_waits_for_a_person_and_a_month(apps: list[App]) -> None:
    cases: list[tuple[list[Any], str]] = [
        ([{"ok": True}], "sent: Please pay 100."),
        ([{"ok": False, "why": "too much"}], "refused: too much"),
        ([], "nobody approved it"),
    ]
    for said, result in cases:
        done = await always_replay(apps[0], "invoice", {"amount": 100}, signals={"approve": said})
        assert done.result == result
    waits = await run_task(apps[0], "invoice", {"amount": 100}, skip_time=False)
    assert isinstance(waits.outcome, Waiting)
    (condition,) = waits.outcome.conditions
    assert (condition.kind, condition.name) == ("signal", "approve")
    assert condition.until == 3 * 86_400_000


async def test_pages_wait_side_by_side(apps: list[App]) -> None:
    pages: dict[str, list[Any]] = {f"page-{number}": [f" ({number})"] for number in range(3)}
    first = await run_task(apps[1], "book", {"pages": 3}, signals=pages)
    assert isinstance(first.outcome, Waiting)
    assert [condition.name for condition in first.outcome.conditions] == ["title"]
    second = await run_task(
        apps[1], "book", {"pages": 3}, signals={"title": ["A"]}, checkpoints=first.checkpoints
    )
    assert second.result == ["A", "page 0 (0)", "page 1 (1)", "page 2 (2)"]
    assert list(second.ran) == ["wait_for title"]
