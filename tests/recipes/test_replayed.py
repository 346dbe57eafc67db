"""Every recipe comes to the same end, wherever between two steps it is cut."""

from typing import Any

import pytest

from examples import approval, chain, chord, group, pipeline, saga
from stagepost import App
from stagepost.testing import always_replay

ASKED = {"about": "the delay", "reviewer": "ann"}
YES, NO = {"ok": True}, {"ok": False, "why": "be kinder"}


@pytest.mark.parametrize(
    ("app", "name", "value", "said"),
    [
        (chain.app, "answer-letter", {"text": "My invoice"}, {}),
        (group.app, "translate-all", {"text": "Hello", "languages": ["de", "xx"]}, {}),
        (group.app, "translate", {"text": "Hello", "language": "de"}, {}),
        (chord.app, "sum-up-book", {"chapters": ["One. Two.", "Three."]}, {}),
        (pipeline.app, "ingest", {"document": "one"}, {}),
        (pipeline.app, "ocr", {"document": "one"}, {}),
        (approval.app, "write-letter", ASKED, {"decide-1": [YES]}),
        (approval.app, "write-letter", ASKED, {"decide-1": [NO, YES], "decide-2": [YES]}),
        (approval.app, "write-letter", ASKED, {f"decide-{n}": [NO] for n in (1, 2, 3)}),
        (approval.app, "write-letter", ASKED, {}),
        (saga.app, "publish", {"document": "d1"}, {}),
        (saga.app, "publication", {"document": "d1"}, {}),
        (saga.app, "publication", {"document": "d1", "broken": "budget"}, {}),
        (saga.app, "withdraw", {"document": "d1"}, {}),
    ],
)
async def test_it_is_steady(app: App, name: str, value: Any, said: dict[str, list[Any]]) -> None:
    assert (await always_replay(app, name, value, signals=said)).result is not None


async def test_nobody_decides_for_four_days() -> None:
    run = await always_replay(approval.app, "write-letter", ASKED)
    assert run.result == {"sent": False, "text": "", "why": "Nobody has decided in time."}
    assert run.waited == 4 * 86_400
