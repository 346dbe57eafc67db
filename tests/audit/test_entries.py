"""What a fact about a call fixes, and what may change behind it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.audit.entries import (
    BEGUN,
    ENDED,
    MISSING,
    CallRow,
    Fact,
    allows,
    digest_of,
    entry_of,
    in_order,
)
from stagepost.calls import CallState

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
scalar = st.one_of(text, st.integers(-(2**53), 2**53), st.booleans(), st.none())
END_FACTS = (Fact.RESULT, Fact.REJECTED, Fact.REFUSED)


def row(**changes: Any) -> CallRow:
    begun = tuple(f"b{number}" for number, _ in enumerate(BEGUN))
    ended = tuple(range(len(ENDED)))
    return CallRow(begun, CallState.RESULT, ended, None)._replace(**changes)


@given(st.sampled_from(END_FACTS), st.integers(0, len(BEGUN + ENDED) - 1), scalar)
def test_an_end_fixes_every_column(fact: Fact, place: int, value: Any) -> None:
    plain = row()
    columns = [*plain.begun, *plain.ended]
    was, columns[place] = columns[place], value
    cut = len(BEGUN)
    changed = plain._replace(begun=tuple(columns[:cut]), ended=tuple(columns[cut:]))
    same = type(was) is type(value) and was == value
    assert (digest_of(fact, plain) == digest_of(fact, changed)) is same


def test_the_facts_of_one_row_differ() -> None:
    digests = {digest_of(fact, row()) for fact in (Fact.UNKNOWN, *END_FACTS)}
    assert len(digests) == 4


def test_what_is_unknown_may_still_end() -> None:
    before = row(state=CallState.INTENT, ended=(None,) * len(ENDED))
    assert digest_of(Fact.UNKNOWN, before) == digest_of(Fact.UNKNOWN, row())


def test_a_result_may_still_be_rejected() -> None:
    later = row(state=CallState.REJECTED, kind="BAD_OUTPUT")
    assert digest_of(Fact.RESULT, row()) == digest_of(Fact.RESULT, later)
    assert allows(Fact.RESULT, CallState.REJECTED)
    assert digest_of(Fact.REJECTED, later) != digest_of(Fact.REJECTED, later._replace(kind="BUG"))


@pytest.mark.parametrize(
    ("fact", "state"),
    [
        (Fact.REJECTED, CallState.RESULT),
        (Fact.REFUSED, CallState.RESULT),
        (Fact.RESULT, CallState.INTENT),
        (Fact.RESULT, CallState.REFUSED),
        (Fact.GONE, CallState.RESULT),
    ],
)
def test_an_end_is_never_undone(fact: Fact, state: CallState) -> None:
    assert not allows(fact, state)


def test_a_row_that_vanished_is_an_entry_too() -> None:
    assert entry_of("a", Fact.RESULT, None).digest == MISSING
    assert entry_of("a", Fact.GONE, None) == entry_of("a", Fact.GONE, row())


@given(st.permutations([(call, fact) for call in "abc" for fact in Fact]))
def test_the_order_of_entries_is_one(waiting: list[tuple[str, Fact]]) -> None:
    assert in_order(waiting) == [(call, fact) for call in "abc" for fact in Fact]
