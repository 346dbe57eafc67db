"""A child that a hostile file took over can say what it likes; only sound answers pass."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from stagepost.tasks.documents.answer import Answer

SOUND = {
    "media_type": "text/plain",
    "text": "abcdef",
    "pages": [[0, 2], [2, 2], [2, 6]],
    "warnings": [],
}


def answer(**changes: Any) -> Answer:
    return Answer.model_validate_json(json.dumps({"extract": {**SOUND, **changes}}))


def test_a_sound_extract_passes() -> None:
    extract = answer().extract
    assert extract is not None
    assert extract.pages == ((0, 2), (2, 2), (2, 6))


@pytest.mark.parametrize(
    "pages",
    [[], [[0, 5]], [[0, 7]], [[0, 2], [3, 6]], [[0, 3], [2, 6]], [[1, 6]], [[0, 8], [8, 6]]],
)
def test_pages_that_do_not_tile_the_text_are_rejected(pages: list[list[int]]) -> None:
    with pytest.raises(ValidationError):
        answer(pages=pages)


@pytest.mark.parametrize(
    "changes",
    [{"media_type": "text/html"}, {"text": 5}, {"warnings": ["w"] * 21}, {"sha256": "00"}],
)
def test_anything_unknown_is_rejected(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        answer(**changes)


@pytest.mark.parametrize("said", [{}, {"refusal": "no", "extract": SOUND}, {"refusal": "x" * 1001}])
def test_an_answer_says_exactly_one_short_thing(said: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Answer.model_validate(said)
