"""Each test has a world outside of its own, which is quick."""

from pathlib import Path

import pytest

from examples import outside

LANES = {"interactive": 8, "batch": 4, "ocr": 4, "embed": 4, "index": 1}
"""Those that the recipes' page says."""


@pytest.fixture(autouse=True)
def _outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(outside, "SECONDS", 0.01)
