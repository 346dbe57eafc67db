"""What the model makes by itself: instances of schemas, texts, tokens, times."""

import json
from random import Random
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter

from stagepost.simulated.instances import MOST_VALUES, Unsatisfiable, instance_of
from stagepost.simulated.texts import excerpt, sentences
from stagepost.simulated.timing import LONGEST, Pace, Timing
from stagepost.simulated.tokens import pieces_of, tokens_of

SEEDS = st.integers(0, 10_000)


class Node(BaseModel, extra="forbid"):
    name: str = Field(min_length=3, max_length=200)
    left: "Node | None"
    children: list["Node"]


class Everything(BaseModel, extra="forbid"):
    kind: Literal["clause", "annex"]
    one: Literal[1]
    number: int = Field(ge=3, lt=9)
    share: float = Field(gt=0, lt=1)
    many: list[int] = Field(min_length=2, max_length=4)
    flag: bool
    nothing: None
    either: int | str
    date: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}$")
    money: float = Field(multiple_of=0.5, ge=1)
    tree: Node
    by_name: dict[str, int] = Field(min_length=1)
    pair: tuple[int, str]


@given(SEEDS)
def test_a_value_fits_its_schema(seed: int) -> None:
    for shape in (Everything, Node):
        value = instance_of(shape.model_json_schema(), Random(seed))
        shape.model_validate(json.loads(json.dumps(value)), strict=False)


@given(SEEDS)
def test_the_same_draw_makes_the_same(seed: int) -> None:
    schema = Everything.model_json_schema()
    assert instance_of(schema, Random(seed)) == instance_of(schema, Random(seed))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"allOf": [{"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]},
                    {"properties": {"b": {"enum": [2]}}, "required": ["b"]}]}, {"a": 1, "b": 2}),
        ({"type": ["integer", "null"], "minimum": 5, "maximum": 5}, 5),
        ({"enum": ["x"]}, "x"),
        ({"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True, "minItems": 3}, None),
        ({"type": "object", "properties": {}, "additionalProperties": False}, {}),
        ({"type": "string", "format": "date"}, "2026-03-31"),
    ],
)  # fmt: skip
def test_schemas_of_other_makes(schema: Any, value: Any) -> None:
    made = instance_of(schema, Random(1))
    if value is not None:
        assert made == value
    assert TypeAdapter(Any).dump_json(made)


DOUBLING: dict[str, Any] = {
    str(n): {"allOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(60)
} | {"60": {"type": "string"}}
DEEP: dict[str, Any] = {}
for _ in range(100):
    DEEP = {"type": "object", "properties": {"a": DEEP}, "required": ["a"]}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "#/$defs/none"},
        {"type": "thing"},
        {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
        {"type": "integer", "minimum": 5, "maximum": 4},
        {"type": "string", "pattern": "^(a+)+b{40}$"},
        {"type": "string", "pattern": "(([a-zA-Z0-9.@:/-]+)+)+!"},
        {"type": "string", "pattern": "("},
        {"type": "string", "minLength": 10**9},
        {"type": "array", "items": {"type": "string"}, "minItems": 10 * MOST_VALUES},
        {"anyOf": [{"type": "thing"}, {"type": "other"}]},
        DEEP,
        {"allOf": [{"$ref": "#/$defs/0"}], "$defs": DOUBLING},
        {"type": "array", "minItems": "many"},
        {"type": "string", "maxLength": 1e400},
    ],
    ids=range(15),
)
def test_a_schema_without_a_value_is_refused(schema: Any) -> None:
    with pytest.raises((Unsatisfiable, ValueError, OverflowError)):
        instance_of(schema, Random(1))


@given(SEEDS, st.text(min_size=1, max_size=500))
def test_an_excerpt_stands_in_the_text(seed: int, text: str) -> None:
    assert excerpt(Random(seed), text) in text


@given(st.text(max_size=300))
def test_tokens_are_about_the_pieces(text: str) -> None:
    pieces = pieces_of(text)
    assert "".join(pieces) == text
    # Each change of alphabet may end a piece early.
    assert tokens_of(text) <= len(pieces) <= len(text)


@given(SEEDS, st.integers(1, 500))
def test_sentences_are_about_as_long_as_asked(seed: int, tokens: int) -> None:
    found = len(pieces_of(sentences(Random(seed), tokens)))
    assert tokens <= found <= tokens + 30


def test_times_are_lognormal_within_their_bounds_and_shortened() -> None:
    timing = Timing(first_token=8, token=0.02, sigma=1, least=1, most=60)
    firsts = sorted(Pace(timing, Random(n), 10).first() for n in range(2_001))
    assert firsts[0] >= 0.1
    assert firsts[-1] <= 6
    assert firsts[1_000] == pytest.approx(0.8, rel=0.1)
    assert firsts[1_682] == pytest.approx(0.8 * 2.718, rel=0.15), "one sigma above the median"
    assert Pace(timing, Random(0), 1).rest(1_000) == pytest.approx(0.02 * 1_000 * 1.65, rel=0.2)


def test_times_without_a_sigma_are_exact() -> None:
    pace = Pace(Timing(first_token=1, token=0.5, sigma=0), Random(0), 2)
    assert (pace.first(), pace.rest(4)) == (0.5, 1.0)


@pytest.mark.parametrize(
    "wrong", [{"first_token": -1}, {"sigma": float("nan")}, {"most": LONGEST * 2}, {"least": 700}]
)
def test_times_that_are_none_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Timing(**wrong)
