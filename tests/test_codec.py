"""Values to JSON and back: the same before a crash and after it."""

import subprocess
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel, Field

from stagepost import codec


class Colour(Enum):
    RED = "red"


class Clause(BaseModel):
    text: str = Field(alias="Text")
    marks: set[str] = set()


@dataclass
class Point:
    x: int
    tags: frozenset[str] = field(default_factory=frozenset)


def model() -> Clause:
    return Clause(Text="one", marks={"a", "b"})


def point() -> Point:
    return Point(1, frozenset({"p"}))


def instant() -> datetime:
    return datetime(2026, 1, 2, 3, 4, 5, 678, UTC)


def numbers() -> set[int]:
    return {1, 2, 3}


def raw() -> bytes:
    return b"\xff\x00"


def many_raws() -> list[bytes]:
    return [b"\xff"]


def mixed() -> dict[str, tuple[Decimal, date, UUID, timedelta, Colour, Path]]:
    one = (Decimal("1.10"), date(2026, 1, 2), UUID(int=5), timedelta(seconds=90), Colour.RED)
    return {"k": (*one, Path("a/b"))}


def nothing() -> None:
    return None


def plain():  # type: ignore[no-untyped-def]  # noqa: ANN201  # as users write them, too
    return {"a": [1, 2.5, "x", None, True], "big": 10**30}


@pytest.mark.parametrize(
    "fn", [model, point, instant, numbers, raw, many_raws, mixed, nothing, plain, partial(model)]
)
def test_what_a_step_returns_comes_back_as_it_was(fn: Callable[[], Any]) -> None:
    value = fn()
    back = codec.decode(fn, codec.encode(fn, value))
    assert back == value
    assert type(back) is type(value)


def test_without_an_annotation_a_value_comes_back_as_plain_json() -> None:
    assert codec.decode(lambda: None, codec.encode(lambda: None, (1, {2}))) == [1, [2]]
    assert codec.decode(lambda: None, codec.encode(lambda: None, b"\xff")) == "_w=="


def test_what_json_has_no_number_for_is_null_and_never_spoils_the_text() -> None:
    assert codec.encode(plain, [float("nan"), float("inf")]) == "[null,null]"


@pytest.mark.parametrize("value", [object(), "\ud800", {"a": lambda: None}])
def test_a_result_that_does_not_serialise_is_a_type_error(value: Any) -> None:
    with pytest.raises(TypeError, match="plain must serialise"):
        codec.encode(plain, value)


def test_a_result_that_does_not_fit_its_annotation_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="return annotation"):
        codec.decode(numbers, codec.encode(numbers, "abc"))


def test_more_than_16_mib_are_refused_with_the_remedy() -> None:
    assert codec.encode(plain, "x" * (codec.LARGEST - 2))
    with pytest.raises(ValueError, match="artifact"):
        codec.encode(plain, "x" * (codec.LARGEST - 1))


def test_the_digest_tells_arguments_apart() -> None:
    different = [
        codec.digest([1], {}),
        codec.digest(["1"], {}),
        codec.digest([[1]], {}),
        codec.digest([], {"a": 1}),
        codec.digest([model()], {}),
        codec.digest([10**30], {}),
        codec.digest([b"\xff"], {}),
        codec.digest([Clause(Text="two", marks={"a", "b"})], {}),
    ]
    assert len(set(different)) == len(different)


def test_the_digest_does_not_depend_on_the_order_of_names() -> None:
    assert codec.digest([{"a": 1, "b": 2}], {"x": 1, "y": 2}) == codec.digest(
        [{"b": 2, "a": 1}], {"y": 2, "x": 1}
    )


def test_the_digest_is_the_same_in_every_process() -> None:
    # Texts hash differently in each process, so sets come in another order.
    code = """
import test_codec as t, stagepost.codec as c
words = {str(n) for n in range(50)}
print(c.digest([words, t.Clause(Text="x", marks=words), t.Point(1, frozenset(words)),
    {"k": [words]}, t.Colour.RED, t.instant()], {}))"""
    digests = set()
    for seed in ("1", "2", "3"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parent)},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        digests.add(done.stdout)
    assert len(digests) == 1


@pytest.mark.parametrize("value", [object(), lambda: None, {"a": object()}])
def test_an_argument_that_does_not_serialise_is_a_type_error(value: Any) -> None:
    with pytest.raises(TypeError, match="arguments must serialise"):
        codec.digest([value], {})


def test_a_circle_is_a_type_error() -> None:
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(TypeError, match="arguments must serialise"):
        codec.digest([circle], {})


def test_a_closure_is_not_kept_alive_by_its_annotation() -> None:
    class Document:
        pass

    document = Document()

    def step(document: Any = document) -> set[int]:
        return {1}

    codec.decode(step, codec.encode(step, {1}))
    gone = weakref.ref(document)
    del document, step
    assert gone() is None


def test_an_annotation_that_cannot_be_read_says_so() -> None:
    def odd() -> "Unknown":  # type: ignore[name-defined]  # noqa: F821
        return None

    def worse() -> Callable[[], int]:
        return lambda: 1

    class NoSchema:
        pass

    def worst() -> NoSchema:
        return NoSchema()

    with pytest.raises(TypeError, match="can't be read"):
        codec.encode(odd, 1)
    with pytest.raises(TypeError, match="can't be validated"):
        codec.encode(worst, NoSchema())
    with pytest.raises(TypeError, match="must serialise"):
        codec.encode(worse, object())
