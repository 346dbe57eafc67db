"""What an exception of a handler means, row by row."""

import asyncio
import pickle
import traceback
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost import errors
from stagepost.failure import (
    MESSAGE_LIMIT,
    REACTIONS,
    TRACE_LIMIT,
    Failure,
    FailureKind,
    Redrive,
    Then,
    classify,
)

TABLE = {
    "RATE_LIMIT": (Then.PARK, Redrive.YES),
    "OVERLOADED": (Then.RETRY, Redrive.YES),
    "SERVER_ERROR": (Then.RETRY, Redrive.YES),
    "TIMEOUT": (Then.RETRY, Redrive.YES),
    "CONTENT_POLICY": (Then.DEAD_LETTER, Redrive.AFTER_CHANGE),
    "INVALID_INPUT": (Then.DEAD_LETTER, Redrive.AFTER_CHANGE),
    "CONTEXT_LENGTH": (Then.DEAD_LETTER, Redrive.AFTER_CHANGE),
    "AUTH": (Then.PARK, Redrive.YES),
    "CONFIG": (Then.PARK, Redrive.YES),
    "QUOTA": (Then.PARK, Redrive.YES),
    "BUDGET": (Then.PARK, Redrive.YES),
    "BAD_OUTPUT": (Then.DEAD_LETTER, Redrive.AFTER_CHANGE),
    "BUG": (Then.RETRY, Redrive.AFTER_CHANGE),
    "WORKER_LOST": (Then.RETRY, Redrive.YES),
    "DEADLINE": (Then.DEAD_LETTER, Redrive.YES),
    "CODE_CHANGED": (Then.DEAD_LETTER, Redrive.AFTER_CHANGE),
    "CHILD_FAILED": (Then.DEAD_LETTER, Redrive.YES),
    "UNKNOWN_OUTCOME": (Then.DEAD_LETTER, Redrive.YES),
}

RAISED: list[tuple[Callable[[str], BaseException], FailureKind]] = [
    (errors.InvalidInput, FailureKind.INVALID_INPUT),
    (errors.ContentPolicy, FailureKind.CONTENT_POLICY),
    (errors.RateLimited, FailureKind.RATE_LIMIT),
    (errors.Overloaded, FailureKind.OVERLOADED),
    (errors.ServerError, FailureKind.SERVER_ERROR),
    (errors.CodeChanged, FailureKind.CODE_CHANGED),
    (errors.ChildFailed, FailureKind.CHILD_FAILED),
    (errors.AmbiguousStep, FailureKind.BUG),
    (errors.HandlerError, FailureKind.BUG),
    (errors.UnknownLimit, FailureKind.BUG),
    (errors.NeverFits, FailureKind.BUG),
    (errors.UnknownType, FailureKind.BUG),
    (errors.UnknownLane, FailureKind.BUG),
    (lambda text: errors.Invalid(text, []), FailureKind.BUG),
]
"""What a handler raises, or asks for in vain, so that its message is shown."""

FOREIGN: list[tuple[Callable[[str], BaseException], FailureKind]] = [
    (TimeoutError, FailureKind.TIMEOUT),
    (asyncio.TimeoutError, FailureKind.TIMEOUT),
    (ValueError, FailureKind.BUG),
    (KeyError, FailureKind.BUG),
    (ConnectionResetError, FailureKind.BUG),
    (MemoryError, FailureKind.BUG),
    (asyncio.CancelledError, FailureKind.BUG),
    (errors.StoreUnavailable, FailureKind.BUG),
    (errors.LeaseLost, FailureKind.BUG),
    (SystemExit, FailureKind.BUG),
]
"""Whose texts may hold anything."""

SECRET = "postgresql://admin:hunter2@10.0.0.3"


def test_the_table_of_reactions() -> None:
    assert {kind.value: (row.then, row.redrive) for kind, row in REACTIONS.items()} == TABLE
    assert set(REACTIONS) == set(FailureKind)


@pytest.mark.parametrize(("make", "kind"), RAISED)
def test_a_handlers_own_message_is_shown(
    make: Callable[[str], BaseException], kind: FailureKind
) -> None:
    failure = classify(make("Page 3 can't be read."))
    assert (failure.kind, failure.message) == (kind, "Page 3 can't be read.")


@pytest.mark.parametrize(("make", "kind"), FOREIGN)
def test_any_other_text_is_for_operators_only(
    make: Callable[[str], BaseException], kind: FailureKind
) -> None:
    failure = classify(make(SECRET))
    assert failure.kind is kind
    assert "hunter2" not in failure.message
    assert "hunter2" in failure.trace


@pytest.mark.parametrize(("make", "kind"), RAISED)
def test_an_error_without_a_message_gets_the_sentence_of_its_kind(
    make: Callable[[str], BaseException], kind: FailureKind
) -> None:
    message = classify(make("")).message
    assert message.endswith(".")
    assert ("time-out" in message) == (kind is FailureKind.TIMEOUT)


def test_the_sentences_of_two_kinds_differ() -> None:
    sentences = {classify(make("")).message for make, _ in RAISED[:6]}
    assert len(sentences) == 6


def test_a_bug_names_its_class() -> None:
    assert "(ZeroDivisionError)" in classify(ZeroDivisionError("x")).message


def test_what_was_asked_for_by_a_limit_is_kept() -> None:
    assert classify(errors.RateLimited("Slow down.", retry_after=30)).retry_after == 30
    assert classify(errors.Overloaded("Busy.")).retry_after is None


CALLS = sorted(set(FailureKind) - {FailureKind.WORKER_LOST, FailureKind.DEADLINE})


@pytest.mark.parametrize("kind", CALLS)
def test_a_failed_call_says_its_kind_and_its_text_is_for_operators(kind: FailureKind) -> None:
    failure = classify(errors.CallFailed(SECRET, kind=kind, retry_after=7))
    assert (failure.kind, failure.retry_after) == (kind, 7)
    assert failure.message.endswith(".")
    assert "hunter2" not in failure.message
    assert "hunter2" in failure.trace


@pytest.mark.parametrize("kind", ["WORKER_LOST", "DEADLINE", "", "no kind"])
def test_a_failed_call_of_a_kind_that_calls_cannot_have_is_a_bug(kind: str) -> None:
    assert classify(errors.CallFailed("", kind=kind)).kind is FailureKind.BUG


def test_a_failed_call_crosses_processes_whole() -> None:
    sent = errors.CallFailed("no key", kind="AUTH", retry_after=3.5)
    got = pickle.loads(pickle.dumps(sent))
    assert (str(got), got.kind, got.retry_after) == ("no key", "AUTH", 3.5)


def test_a_subclass_counts_as_its_kind() -> None:
    class Unreadable(errors.InvalidInput):
        pass

    assert classify(Unreadable("No text.")).kind is FailureKind.INVALID_INPUT


def test_the_first_of_a_group_is_the_cause_however_deep() -> None:
    error: BaseException = errors.Overloaded("Busy.")
    for _ in range(10):
        error = BaseExceptionGroup("group", [error, ValueError(SECRET)])
    assert (classify(error).kind, classify(error).message) == (FailureKind.OVERLOADED, "Busy.")


def test_a_group_nested_without_end_is_a_bug() -> None:
    error: BaseException = errors.Overloaded("Busy.")
    for _ in range(40):
        error = BaseExceptionGroup(SECRET, [error])
    failure = classify(error)
    assert failure.kind is FailureKind.BUG
    assert "hunter2" not in failure.message


async def test_what_a_task_group_raises_is_understood() -> None:
    async def member() -> None:
        raise errors.ServerError("The archive is down.")

    with pytest.raises(BaseExceptionGroup) as caught:
        async with asyncio.TaskGroup() as group:
            group.create_task(member())
    assert classify(caught.value).message == "The archive is down."


def test_an_error_whose_text_cannot_be_made_is_classified_all_the_same() -> None:
    class Broken(errors.InvalidInput):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    failure = classify(Broken("x"))
    assert (failure.kind, failure.message) == (
        FailureKind.INVALID_INPUT,
        "The input can't be worked on.",
    )


def test_the_end_of_a_long_trace_is_kept() -> None:
    def deeper(level: int) -> None:
        if level:
            deeper(level - 1)
        raise ValueError("x" * 20_000 + "the end")

    try:
        deeper(30)
    except ValueError as error:
        trace, whole = classify(error).trace, "".join(traceback.format_exception(error))
    assert trace == whole[-TRACE_LIMIT:]


@given(st.text(st.characters()))
def test_every_text_becomes_fit_for_every_store(text: str) -> None:
    failure = Failure(FailureKind.BUG, text * 3, text * 3)
    for kept in (failure.message, failure.trace):
        kept.encode()
        assert "\0" not in kept
    assert len(failure.message) <= MESSAGE_LIMIT


def test_a_long_message_is_cut() -> None:
    assert len(classify(errors.InvalidInput("é" * 10_000)).message) == MESSAGE_LIMIT


@pytest.mark.parametrize("text", ["half a pair: \ud83d", "nul: \0 end"])
def test_broken_text_is_mended(text: str) -> None:
    failure = classify(errors.InvalidInput(text))
    assert failure.message.encode().startswith(text[:4].encode())
    assert "\0" not in failure.message
