"""models.toml: what it says, and what it says of its faults."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.llm.catalogue import (
    DEFAULT_LIMITS,
    BadCatalogue,
    Catalogue,
    UnknownModel,
    find_catalogue,
)
from stagepost.llm.dialect import Dialect, Structured

WHOLE = """\
# Two providers
[providers.main]
kind = "openai"
api_key_env = "OPENAI_API_KEY"

[providers.backup]
kind = "anthropic"

[providers.house]
kind = "openai"
base_url = "http://127.0.0.1:8000/v1"
dialect = "dashscope"

[models.best]
chain = ["main/gpt-large", "backup/claude-large"]

[models.fast]
chain = ["house/org/small-model"]

[limits."main/gpt-large"]
requests_per_minute = 500
tokens_per_minute = 200_000
concurrency = 50
charge = "actual"
context = 128_000
price = { input = 2.5, output = 10 }
"""


def test_an_alias_stands_for_a_chain() -> None:
    first, second = Catalogue.parse(WHOLE).chain("best")
    assert (first.name, first.asked_as) == ("main/gpt-large", "gpt-large")
    assert first.limits.requests_per_minute == 500
    assert first.limits.price is not None
    assert (first.limits.price.input, first.limits.price.output) == (2.5, 10.0)
    assert (first.charge, second.charge) == ("actual", "actual")
    assert second.limits == DEFAULT_LIMITS
    assert (second.provider.speaks, first.provider.speaks) == (Dialect.ANTHROPIC, Dialect.OPENAI)


def test_a_models_name_may_have_a_slash_and_needs_no_alias() -> None:
    found = Catalogue.parse(WHOLE)
    [small] = found.chain("fast")
    assert (small.asked_as, small.provider.speaks) == ("org/small-model", Dialect.DASHSCOPE)
    assert (small.charge, small.limits.concurrency) == ("reserved", 10)
    assert [model.name for model in found.chain("main/other")] == ["main/other"]


def test_how_a_provider_is_asked_for_forms_goes_by_its_dialect_and_can_be_said() -> None:
    found = Catalogue.parse(WHOLE.replace('"anthropic"', '"anthropic"\nstructured = "schema"'))
    ways = {name: provider.asked_for_forms for name, provider in found.providers.items()}
    assert ways == {
        "main": Structured.SCHEMA,
        "backup": Structured.SCHEMA,
        "house": Structured.OBJECT,
    }
    assert Catalogue.parse(WHOLE).providers["backup"].asked_for_forms is Structured.TOOL


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("bestt", 'no alias "bestt"; there are: best, fast'),
        ("nobody/x", 'no provider for "nobody/x"; there are: main, backup, house'),
    ],
)
def test_what_is_not_there_is_told_with_what_is(name: str, says: str) -> None:
    with pytest.raises(UnknownModel, match=says):
        Catalogue.parse(WHOLE).chain(name)


FAULTS = [
    (
        'kind = "openai"\napi',
        'kind = "openapi"\napi',
        r"m.toml, line 3: providers.main.kind is not valid: input should be 'openai' or",
    ),
    (
        "concurrency = 50",
        "concurency = 50",
        (
            "line 23: limits.main/gpt-large.concurency is not a key that is known here; there are: "
            "requests_per_minute, .*concurrency"
        ),
    ),
    ("concurrency = 50", "concurrency = 0", "line 23: limits.main/gpt-large.concurrency is"),
    (
        "output = 10 }",
        "ouput = 10 }",
        "line 26: limits.main/gpt-large.price.output is missing",
    ),
    (
        'chain = ["main/gpt-large", "backup/claude-large"]',
        "chain = []",
        "line 15: models.best.chain is not valid",
    ),
    (
        '"backup/claude-large"]',
        '"back/claude-large"]',
        (
            'line 15: "back/claude-large" is of the provider "back", which has no table '
            r"\[providers.back\]"
        ),
    ),
    (
        '[limits."main/gpt-large"]',
        '[limits."mian/gpt-large"]',
        'line 20: "mian/gpt-large" is of the provider "mian"',
    ),
    (
        "[models.fast]",
        "[model.fast]",
        "line 17: model is not a key that is known here; there are: providers, models, limits",
    ),
    (
        'api_key_env = "OPENAI_API_KEY"',
        'api_key_env = "sk-proj-secret"',
        "line 4: providers.main.api_key_env is not valid",
    ),
    ("chain =", "chain", "m.toml is no TOML: .*line 15"),
]


@pytest.mark.parametrize(("wrong", "right", "says"), FAULTS)
def test_a_fault_is_told_with_its_line(wrong: str, right: str, says: str) -> None:
    assert wrong in WHOLE
    with pytest.raises(BadCatalogue, match=says) as raised:
        Catalogue.parse(WHOLE.replace(wrong, right, 1), "m.toml")
    assert "sk-proj-secret" not in str(raised.value), "a key that stands in the wrong place"


def test_the_file_is_looked_for_where_it_is_said_to_be(tmp_path: Path) -> None:
    data, work = tmp_path / "data", tmp_path / "work"
    for folder in (data, work):
        folder.mkdir()
    assert find_catalogue(None, [data, work]) is None
    (work / "models.toml").write_text(WHOLE)
    assert find_catalogue(None, [data, work]) == work / "models.toml"
    (data / "models.toml").write_text(WHOLE)
    assert find_catalogue("", [data, work]) == data / "models.toml"
    assert find_catalogue(str(work / "models.toml"), [data]) == work / "models.toml"
    with pytest.raises(BadCatalogue, match="is no file"):
        find_catalogue(str(tmp_path / "none"), [data])
    assert Catalogue.read(data / "models.toml") == Catalogue.parse(WHOLE)
    with pytest.raises(BadCatalogue, match="can't be read"):
        Catalogue.read(tmp_path)


@given(st.text(max_size=200))
def test_no_text_does_more_than_be_refused(text: str) -> None:
    with contextlib.suppress(BadCatalogue):
        Catalogue.parse(text)


def test_every_model_that_is_named_is_listed_once() -> None:
    catalogue = Catalogue.parse("""
[providers.main]
kind = "openai"
[models.best]
chain = ["main/large", "main/small"]
[models.fast]
chain = ["main/small"]
[limits."main/other"]
requests_per_minute = 7
""")
    assert [model.name for model in catalogue.named()] == ["main/large", "main/other", "main/small"]
    assert catalogue.named()[1].limits.requests_per_minute == 7
    assert Catalogue.parse("").named() == []
