"""What a verification finds: one clear sentence for each."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from stagepost.audit.entries import MISSING, CallRow, Entry, Fact, allows, digest_of
from stagepost.audit.seals import START, Mark, Seal, chained
from stagepost.audit.seals import digest_of as digest_of_entries


class Kind(StrEnum):
    """In which way the ledger is not as it was sealed."""

    CHANGED_ROW = "changed-row"
    MISSING_ROW = "missing-row"
    NEVER_SEALED = "never-sealed"
    MISSING_SEAL = "missing-seal"
    CHANGED_SEAL = "changed-seal"
    FORGED_CHAIN = "forged-chain"
    CUT_TAIL = "cut-tail"
    BAD_ANCHOR = "bad-anchor"


class Fault(NamedTuple):
    """One of them. `n` is the seal, `call_id` the call it is about, None where it is about none."""

    kind: Kind
    tenant: str
    n: int | None
    call_id: str | None
    text: str


class Held(NamedTuple):
    """An entry with the row of its call, None where there is none; `gone`: with its tombstone."""

    entry: Entry
    row: CallRow | None
    gone: bool


def of_seal(before: Seal | None, seal: Seal, entries: Sequence[Entry]) -> Iterator[Fault]:
    """What is wrong with a seal, given the one before it in the store."""
    tenant, n = seal.tenant, seal.n
    expected = 1 if before is None else before.n + 1
    if n > expected:
        lost = f"seal {expected}" if n == expected + 1 else f"seals {expected} to {n - 1}"
        text = f"Of tenant {tenant}, {lost} can't be found, though seal {n} follows."
        yield Fault(Kind.MISSING_SEAL, tenant, expected, None, text)
    elif seal.chained != chained(START if before is None else before.chained, seal):
        text = f"Seal {n} of tenant {tenant} does not follow from the one before: it was forged."
        yield Fault(Kind.FORGED_CHAIN, tenant, n, None, text)
    if len(entries) != seal.entries or digest_of_entries(entries) != seal.digest:
        text = f"The entries of seal {n} of tenant {tenant} are not those that were sealed."
        yield Fault(Kind.CHANGED_SEAL, tenant, n, None, text)


def of_row(seal: Seal, held: Held) -> Fault | None:
    """What is wrong with a sealed call, if anything is."""
    (call_id, fact, digest), row, gone = held
    if fact is Fact.GONE:
        if row is None:
            return None
        text = f"The call {call_id} of tenant {seal.tenant} was gone, and is there again."
        return Fault(Kind.CHANGED_ROW, seal.tenant, seal.n, call_id, text)
    if row is None:
        if gone:
            return None
        text = f"The call {call_id} of tenant {seal.tenant}, sealed as {fact}, is missing."
        return Fault(Kind.MISSING_ROW, seal.tenant, seal.n, call_id, text)
    if digest == MISSING:
        text = f"The call {call_id} of tenant {seal.tenant} was missing, and is there again."
    elif not allows(fact, row.state):
        text = (
            f"The call {call_id} of tenant {seal.tenant} was sealed as {fact} and is {row.state}."
        )
    elif digest_of(fact, row) != digest:
        text = f"The call {call_id} of tenant {seal.tenant} was changed after it was sealed."
    else:
        return None
    return Fault(Kind.CHANGED_ROW, seal.tenant, seal.n, call_id, text)


def never_sealed(tenant: str, call_id: str) -> Fault:
    """An end that is neither sealed nor waits for it."""
    text = (
        f"The end of the call {call_id} of tenant {tenant} is neither sealed nor waiting for it: "
        "it was written or changed behind the ledger's back."
    )
    return Fault(Kind.NEVER_SEALED, tenant, None, call_id, text)


def forged(mark: Mark) -> Fault:
    """A seal that is another one than the anchor has."""
    text = (
        f"Seal {mark.n} of tenant {mark.tenant} is another one than the anchor holds: "
        "the chain was forged."
    )
    return Fault(Kind.FORGED_CHAIN, mark.tenant, mark.n, None, text)


def cut_tail(tenant: str, last: int, anchored: int) -> Fault:
    """Seals at the end that the anchor has and the store has not."""
    lost = f"seal {anchored}" if anchored == last + 1 else f"seals {last + 1} to {anchored}"
    text = f"The tail of tenant {tenant} is cut: the anchor holds {lost}, the store does not."
    return Fault(Kind.CUT_TAIL, tenant, last + 1, None, text)


def bad_anchor(number: int, *, many: int) -> Fault:
    """Lines of an anchor that are no seals."""
    more = "" if many == 1 else f", nor are {many - 1} more of its lines"
    text = f"Line {number} of the anchor is no seal{more}; what it held can't be compared."
    return Fault(Kind.BAD_ANCHOR, "", None, None, text)
