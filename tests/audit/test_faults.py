"""Whatever is done to a chain of seals, or to a sealed row, is found."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.test_entries import row
from stagepost.audit import faults
from stagepost.audit.entries import Entry, Fact, entry_of
from stagepost.audit.faults import Held, Kind
from stagepost.audit.seals import Mark, Seal, line_of, mark_of, sealed
from stagepost.calls import CallState

Chain = list[tuple[Seal, list[Entry]]]

entries = st.lists(
    st.builds(
        Entry,
        st.text("0123456789abcdef", min_size=1, max_size=8),
        st.sampled_from(Fact),
        st.text("0123456789abcdef", min_size=4, max_size=4),
    ),
    min_size=1,
    max_size=4,
)
batches = st.lists(entries, min_size=1, max_size=5)


def chain_of(found: Sequence[list[Entry]], tenant: str = "acme") -> Chain:
    chain: Chain = []
    for at, each in enumerate(found):
        chain.append((sealed(chain[-1][0] if chain else None, tenant, at, each), each))
    return chain


def kinds(chain: Chain) -> set[Kind]:
    seals = [None, *(seal for seal, _ in chain)]
    held = [each for _, each in chain]
    found: set[Kind] = set()
    for (before, seal), each in zip(pairwise(seals), held, strict=True):
        assert seal is not None
        found |= {fault.kind for fault in faults.of_seal(before, seal, each)}
    return found


@given(batches)
def test_a_chain_as_it_was_sealed_holds(found: list[list[Entry]]) -> None:
    assert kinds(chain_of(found)) == set()


@given(batches, st.data())
def test_a_seal_that_is_taken_out_leaves_a_gap(
    found: list[list[Entry]], data: st.DataObject
) -> None:
    chain = chain_of([*found, [Entry("z", Fact.RESULT, "d")]])
    del chain[data.draw(st.integers(0, len(chain) - 2))]
    assert Kind.MISSING_SEAL in kinds(chain)


@given(batches, st.data())
def test_a_changed_entry_is_found(found: list[list[Entry]], data: st.DataObject) -> None:
    chain = chain_of(found)
    seal, held = data.draw(st.sampled_from(chain))
    place = data.draw(st.integers(0, len(held) - 1))
    changed = [*held]
    match data.draw(st.sampled_from(["change", "drop", "double"])):
        case "change":
            changed[place] = held[place]._replace(digest="other")
        case "drop":
            del changed[place]
        case _:
            changed.insert(place, held[place])
    chain[seal.n - 1] = (seal, changed)
    assert kinds(chain) == {Kind.CHANGED_SEAL}


@given(batches, st.data())
def test_a_seal_made_anew_breaks_the_chain_behind_it(
    found: list[list[Entry]], data: st.DataObject
) -> None:
    chain = chain_of([*found, [Entry("z", Fact.RESULT, "d")]])
    n = data.draw(st.integers(1, len(chain) - 1))
    forged = [Entry("f", Fact.RESULT, "forged")]
    before = chain[n - 2][0] if n > 1 else None
    chain[n - 1] = (sealed(before, "acme", 77, forged), forged)
    assert Kind.FORGED_CHAIN in kinds(chain)


@given(batches, st.sampled_from(["tenant", "at", "first", "last", "entries", "digest", "chained"]))
def test_every_field_of_a_seal_is_chained(found: list[list[Entry]], field: str) -> None:
    chain = chain_of(found)
    seal, held = chain[-1]
    changes: dict[str, Any] = {field: 99 if field in {"at", "entries"} else "other"}
    forged = seal._replace(**changes)
    assert Kind.FORGED_CHAIN in kinds([*chain[:-1], (forged, held)])


@given(entries)
def test_an_anchor_s_line_says_the_same(found: list[Entry]) -> None:
    seal = sealed(None, "a\n\u2028ü", 5, found)
    assert "\n" not in line_of(seal)
    assert mark_of(line_of(seal)) == Mark(seal.tenant, 1, seal.chained)


@pytest.mark.parametrize(
    "line", ["", "{", "[]", "{}", '{"form":"stagepost seal 1","tenant":"a","n":0,"chained":"x"}']
)
def test_what_is_no_seal_is_said_to_be_none(line: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        mark_of(line)


SEAL = sealed(None, "acme", 1, [Entry("a", Fact.RESULT, "d")])


def kind(held: Held) -> Kind | None:
    fault = faults.of_row(SEAL, held)
    return None if fault is None else fault.kind


def test_a_row_is_judged_by_its_entry() -> None:
    entry = entry_of("a", Fact.RESULT, row())
    spoilt = row(state=CallState.REJECTED, kind="BAD_OUTPUT")
    assert kind(Held(entry, row(), gone=False)) is None
    assert kind(Held(entry, spoilt, gone=False)) is None
    assert kind(Held(entry, None, gone=True)) is None
    assert kind(Held(entry, None, gone=False)) is Kind.MISSING_ROW
    assert kind(Held(entry, row(state=CallState.INTENT), gone=False)) is Kind.CHANGED_ROW
    dearer = row(ended=(1_000, *row().ended[1:]))
    assert kind(Held(entry, dearer, gone=False)) is Kind.CHANGED_ROW


def test_what_was_gone_may_not_come_back() -> None:
    for entry in (entry_of("a", Fact.GONE, None), entry_of("a", Fact.RESULT, None)):
        assert kind(Held(entry, row(), gone=True)) is Kind.CHANGED_ROW
    assert kind(Held(entry_of("a", Fact.GONE, None), None, gone=True)) is None
    assert kind(Held(entry_of("a", Fact.RESULT, None), None, gone=False)) is Kind.MISSING_ROW
