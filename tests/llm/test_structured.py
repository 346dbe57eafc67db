"""Answers in a form: reading what came, and saying what is wrong with it."""

import json
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, RootModel

from stagepost.llm.provider import ChatRequest, Message, Role
from stagepost.llm.strict_schema import strict_schema
from stagepost.llm.structured import Unfit, form_of, read_answer, repaired, with_instruction


class Quote(BaseModel):
    text: str = Field(min_length=2, description="Word by word.")
    page: int | None = None


class Finding(BaseModel):
    risk: Literal["low", "high"] = "low"
    quotes: list[Quote] = Field(max_length=9)


class Node(BaseModel):
    name: str
    inner: "list[Node]" = []


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Pet(BaseModel):
    animal: Cat | Dog = Field(discriminator="kind")


GOOD = '{"risk": "high", "quotes": [{"text": "as is"}]}'
EXPECTED = Finding(risk="high", quotes=[Quote(text="as is")])


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"\n  {GOOD}\n",
        f"\ufeff{GOOD}",
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}```",
        f"Here it is:\r\n```JSON\r\n{GOOD}\r\n```\r\nAnything else?",
        f"Sure! {GOOD} I hope that helps.",
        f"<think>Is it {{odd}}?</think>\n{GOOD}",
        f"```json\n{{}}\n``` No, rather:\n```json\n{GOOD}\n```",
        f"{GOOD}\n",
    ],
)
def test_an_answer_is_found_in_its_fence_and_in_prose(text: str) -> None:
    assert read_answer(text, Finding) == EXPECTED


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("", ("The answer holds no JSON object.",)),
        ("I can't.", ("The answer holds no JSON object.",)),
        ('{"quotes": []', ("Invalid JSON: EOF while parsing an object at line 1 column 13",)),
        (
            '{"risk": "mid", "quotes": [{"text": "x", "page": "p"}]}',
            (
                "risk: Input should be 'low' or 'high'",
                "quotes.0.text: String should have at least 2 characters",
                (
                    "quotes.0.page: Input should be a valid integer, unable to parse string as an "
                    "integer"
                ),
            ),
        ),
    ],
)
def test_what_is_wrong_is_told_by_its_place(text: str, faults: tuple[str, ...]) -> None:
    assert read_answer(text, Finding) == Unfit(faults)


def test_many_faults_are_told_in_part() -> None:
    text = json.dumps({"quotes": [{"text": "x" * 100_000 if n else 7} for n in range(9)] * 9})
    found = read_answer(text.replace("xx", "7,"), Finding)
    assert isinstance(found, Unfit)
    assert len(found.faults) <= 10
    assert all(len(fault) <= 200 for fault in found.faults)


def test_the_wish_to_mend_has_the_answer_and_its_faults() -> None:
    request = ChatRequest("m", (Message(Role.USER, "Find risks."),), form=form_of(Finding))
    unfit = read_answer('{"risk": "mid", "quotes": []}', Finding)
    assert isinstance(unfit, Unfit)
    again = repaired(request, '{"risk": "mid", "quotes": []}', unfit)
    first, said, wish = again.messages
    assert first is request.messages[0]
    assert (said.role, said.content) == (Role.ASSISTANT, '{"risk": "mid", "quotes": []}')
    assert "- risk: Input should be 'low' or 'high'" in wish.content
    assert again.form == request.form
    assert repaired(request, "", unfit).messages[1].content, "no provider takes an empty message"
    assert len(repaired(request, "x" * 1_000_000, unfit).messages[1].content) <= 100_000


def test_the_wish_in_words_joins_the_systems_words() -> None:
    form = form_of(Finding)
    question = Message(Role.USER, "Find risks.")
    alone = with_instruction((question,), form)
    assert [message.role for message in alone] == [Role.SYSTEM, Role.USER]
    joined = with_instruction((Message(Role.SYSTEM, "Be brief."), question), form)
    assert [message.role for message in joined] == [Role.SYSTEM, Role.USER]
    assert joined[0].content == f"Be brief.\n\n{alone[0].content}"


def test_only_an_object_is_an_answer() -> None:
    with pytest.raises(TypeError, match="List is no object in JSON"):
        form_of(type("List", (RootModel[list[int]],), {}))


def test_a_model_that_holds_itself_has_a_form() -> None:
    form = form_of(Node)
    assert form.schema["type"] == "object"
    strict = strict_schema(form.schema)
    assert strict is not None
    assert strict["properties"]["inner"]["items"] == {"$ref": "#/$defs/Node"}
    assert strict["$defs"]["Node"]["required"] == ["name", "inner"]


def test_strict_mode_names_all_and_tells_in_words_what_it_can_not_hold() -> None:
    strict = strict_schema(form_of(Finding).schema)
    assert strict == {
        "type": "object",
        "properties": {
            "risk": {"type": "string", "enum": ["low", "high"]},
            "quotes": {
                "type": "array",
                "items": {"$ref": "#/$defs/Quote"},
                "description": "(maxItems: 9)",
            },
        },
        "required": ["risk", "quotes"],
        "additionalProperties": False,
        "$defs": {
            "Quote": {
                "type": "object",
                "properties": {
                    "text": {"type": "string", "description": "Word by word. (minLength: 2)"},
                    "page": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                },
                "required": ["text", "page"],
                "additionalProperties": False,
            }
        },
    }


def test_one_of_several_is_any_of_them() -> None:
    strict = strict_schema(form_of(Pet).schema)
    assert strict is not None
    assert strict["properties"]["animal"] == {
        "anyOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]
    }


class Free(BaseModel):
    values: dict[str, int]


class Pair(BaseModel):
    pair: tuple[int, str]


class Anything(BaseModel):
    value: Any


class Open(BaseModel, extra="allow"):
    value: int


@pytest.mark.parametrize("model", [Free, Pair, Anything, Open])
def test_what_strict_mode_can_not_say_is_not_strict(model: type[BaseModel]) -> None:
    assert strict_schema(form_of(model).schema) is None


@given(st.text(alphabet='{}[]":,`json \n\\<think>0', max_size=120))
def test_whatever_a_model_writes_is_read_or_unfit(text: str) -> None:
    found = read_answer(text, Finding)
    assert isinstance(found, Finding) or found.faults
