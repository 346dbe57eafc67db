"""Which processes read models.toml, and which of them ask models."""

from collections.abc import Collection
from pathlib import Path

import pytest

from engine_kit.engine import short
from engine_kit.models import models_app
from stagepost.errors import StoreRefused
from stagepost.part import EVERYTHING, Part
from stagepost.settings import Settings
from stagepost.wiring import open_engine

TABLES = '[providers.main]\nkind = "openai"\n[models.best]\nchain = ["main/large"]\n'


def settings(folder: Path, text: str | None) -> Settings:
    file = folder / "models.toml"
    if text is not None:
        file.write_text(text)
    return short(folder / "data", models=str(file))


@pytest.mark.parametrize(
    ("parts", "asks"), [(EVERYTHING, True), ([Part.API], False), ([Part.WORKER], True)]
)
async def test_the_api_knows_the_models_and_a_worker_asks_them(
    tmp_path: Path,
    parts: Collection[Part],
    asks: bool,  # noqa: FBT001
) -> None:
    async with open_engine(settings(tmp_path, TABLES), models_app, parts=parts) as engine:
        assert engine.models is not None
        assert [model.name for model in engine.models.named()] == ["main/large"]
        assert (engine.asking is not None) is asks


@pytest.mark.parametrize("text", [None, "[models.best]\nchain = []\n"])
async def test_a_file_that_can_not_be_used_is_refused_where_it_is_needed(
    tmp_path: Path, text: str | None
) -> None:
    chosen = settings(tmp_path, text)
    for part in (Part.API, Part.WORKER):
        with pytest.raises(StoreRefused, match=r"models\.toml"):
            async with open_engine(chosen, models_app, parts=[part]):
                raise AssertionError
    async with open_engine(chosen, models_app, parts=[Part.MAINTENANCE]) as engine:
        assert engine.models is None


async def test_without_a_file_there_are_no_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with open_engine(short(tmp_path / "data"), models_app) as engine:
        assert (engine.models, engine.asking) == (None, None)
