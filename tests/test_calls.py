"""What a call may be, and which answer a replay gets."""

from typing import Any

import pytest

from stagepost.calls import (
    INLINE_MOST,
    MESSAGE_MOST,
    NAME_MOST,
    Answered,
    CallKey,
    CallState,
    Estimate,
    Usage,
    lies_under,
    replays,
)
from stagepost.errors import Unwritable
from support.calls import body, in_blob, new_call, refused_call, rejected, result
from support.world import new_id

TOO_LARGE = body("x" * (INLINE_MOST + 1))
KEY = CallKey("a#1", "hash", 0)

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "id": ({"id": "one"}, "UUID"),
    "large": ({"request": TOO_LARGE}, "blob"),
    "both": ({"request": body("{}", blob="key")}, "either as text or as a blob"),
    "neither": ({"request": body("{}")._replace(text=None)}, "either as text or as a blob"),
    "path": ({"key": KEY._replace(path="x" * 20_000)}, "step path"),
    "hash": ({"key": KEY._replace(request_hash="x" * 200)}, "request hash"),
    "n": ({"key": KEY._replace(n=-1)}, "n is a number"),
    "provider": ({"provider": "x" * 300}, "provider"),
    "model": ({"model": "x" * 300}, "model"),
    "estimate": ({"estimate": Estimate(1, 1, 2**60)}, "estimated cost"),
    "sha": ({"request": body("{}", sha256="x" * 200)}, "content hash"),
}


@pytest.mark.parametrize(("changes", "word"), WRONG.values(), ids=WRONG)
def test_an_intent_keeps_within_its_bounds(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(Unwritable, match=word):
        new_call(**changes)


WRONG_ENDS: dict[str, tuple[dict[str, Any], str]] = {
    "no answer": ({"answer": None}, "has an answer"),
    "large": ({"answer": TOO_LARGE}, "blob"),
    "usage": ({"usage": Usage(-1)}, "used input"),
    "cost": ({"cost": -1}, "cost"),
    "took": ({"took": 2**54}, "took"),
    "first token": ({"first_token": -1}, "first token"),
}


@pytest.mark.parametrize(("changes", "word"), WRONG_ENDS.values(), ids=WRONG_ENDS)
def test_an_end_keeps_within_its_bounds(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(Unwritable, match=word):
        result(**changes)


def test_what_is_no_result_says_why() -> None:
    for make in (rejected, refused_call):
        with pytest.raises(Unwritable, match="says why"):
            make(kind=None)


@pytest.mark.parametrize("state", [CallState.INTENT, CallState.UNKNOWN])
def test_nobody_ends_a_call_as_what_is_no_end(state: CallState) -> None:
    with pytest.raises(Unwritable, match=f"not as {state}"):
        type(result())(state, answer=body("{}"))


def test_what_a_provider_says_of_itself_is_mended_and_cut() -> None:
    end = refused_call(message="no\0 \ud800" * 1_000, provider_id="x" * 1_000)
    assert len(end.message) == MESSAGE_MOST
    assert end.message.startswith("no\N{REPLACEMENT CHARACTER} ?")
    assert end.provider_id == "x" * NAME_MOST


def test_a_large_one_is_kept_as_a_blob() -> None:
    assert new_call(request=in_blob("key")).request.blob == "key"
    new_call(request=body("x" * INLINE_MOST))


def test_what_counts_is_what_was_told_or_else_the_estimate() -> None:
    assert result().counted == (100, 30, 450)
    assert result(usage=Usage(), cost=None).counted == (None, None, None)
    assert refused_call().counted == (0, 0, 0)
    assert refused_call(usage=Usage(input=3)).counted == (3, 0, 0)
    assert refused_call(maybe_billed=True).counted == (None, None, None)
    assert rejected(cost=None).counted == (100, 30, None)


def got(text: str, **changes: Any) -> Answered:
    found = Answered(new_id(), KEY, "main", "large", Usage(), 1, body(text), late=False, ended_at=1)
    return found._replace(**changes)


def test_the_answer_that_was_used_is_found_in_whatever_order() -> None:
    own, early, later = got("own", ended_at=5), got("a", late=True), got("b", late=True, ended_at=2)
    other = got("other", key=KEY._replace(n=1))
    assert replays([later, own, early, other]) == {KEY: own, other.key: other}
    assert replays([later, early]) == replays([early, later]) == {KEY: early}
    assert replays([]) == {}


@pytest.mark.parametrize(
    ("path", "lies"),
    [("a", True), ("a/b", True), ("a/b/c", True), ("ab", False), ("", False), ("x/a", False)],
)
def test_a_call_lies_under_the_steps_around_it(path: str, lies: bool) -> None:  # noqa: FBT001
    assert lies_under(path, frozenset({"a"})) is lies
