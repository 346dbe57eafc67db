"""Verifying the ledger: its seals, the rows that they fix, and the anchor outside."""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from stagepost.audit import faults
from stagepost.audit.entries import Fact
from stagepost.audit.faults import Fault
from stagepost.audit.seals import Mark, Seal, mark_of
from stagepost.store.seals import SealReading

FAULTS_MOST: Final = 1_000
"""Faults that a report names; the others are counted."""

_PAGE: Final = 500


@dataclass(slots=True)
class Chain:
    """What a tenant's seals hold.

    `gone` calls went with their task's tombstone. `waiting` facts are not sealed yet, and `unsent`
    seals are in no anchor yet: a change of those would not be found.
    """

    seals: int = 0
    entries: int = 0
    gone: int = 0
    waiting: int = 0
    unsent: int = 0
    anchored: int = 0


@dataclass(slots=True)
class Report:
    """What was found. `more` faults are not named; `anchored` says whether an anchor was given."""

    anchored: bool
    chains: dict[str, Chain] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    more: int = 0

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults

    def chain(self, tenant: str) -> Chain:
        """A tenant's part of it."""
        return self.chains.setdefault(tenant, Chain())

    def add(self, fault: Fault | None) -> None:
        """Note a fault, if it is one."""
        if fault is not None and len(self.faults) < FAULTS_MOST:
            self.faults.append(fault)
        elif fault is not None:
            self.more += 1


async def verify(
    reading: SealReading, tenant: str | None = None, anchor: Iterable[str] | None = None
) -> Report:
    """Compare all that is sealed, of one tenant or of all, with what is there and with an anchor.

    `anchor` is its lines. May run beside an engine that works: what comes meanwhile is the tail.
    Without an anchor, whoever can write to the store may have cut the tail or made all seals anew.
    """
    report = Report(anchored=anchor is not None)
    async for each in _tenants(reading, tenant):
        await _check_chain(reading, each, report)
    await _check_ends(reading, tenant, report)
    if anchor is not None:
        await _check_anchor(reading, tenant, anchor, report)
    for name, count in _of(tenant, await reading.waiting()):
        report.chain(name).waiting = count
    for name, count in _of(tenant, await reading.unsent_counts()):
        report.chain(name).unsent = count
    return report


def _of(tenant: str | None, counts: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    return ((name, count) for name, count in counts.items() if tenant in {None, name})


async def _tenants(reading: SealReading, tenant: str | None) -> AsyncIterator[str]:
    if tenant is not None:
        yield tenant
        return
    after = ""
    while page := await reading.tenants(after, _PAGE):
        for each in page:
            yield each
        after = page[-1]


async def _check_chain(reading: SealReading, tenant: str, report: Report) -> None:
    before: Seal | None = None
    while page := await reading.chain(tenant, 0 if before is None else before.n, _PAGE):
        for seal in page:
            await _check_seal(reading, before, seal, report)
            before = seal


async def _check_seal(
    reading: SealReading, before: Seal | None, seal: Seal, report: Report
) -> None:
    held = await reading.held(seal.tenant, seal.n)
    chain = report.chain(seal.tenant)
    chain.seals += 1
    chain.entries += len(held)
    chain.gone += sum(each.entry.fact is Fact.GONE for each in held)
    for fault in faults.of_seal(before, seal, [each.entry for each in held]):
        report.add(fault)
    for each in held:
        report.add(faults.of_row(seal, each))


async def _check_ends(reading: SealReading, tenant: str | None, report: Report) -> None:
    """Each end that is in the ledger is sealed, or waits for it."""
    after: str | None = None
    while page := await reading.scan(after, _PAGE):
        for each in page:
            if each.loose and tenant in {None, each.tenant}:
                report.add(faults.never_sealed(each.tenant, each.call_id))
        after = page[-1].call_id


async def _check_anchor(
    reading: SealReading, tenant: str | None, anchor: Iterable[str], report: Report
) -> None:
    """Each seal that the anchor has is in the store, and is the same there."""
    ends: dict[str, int] = {}
    read = _Lines(anchor)
    marks = iter(read)
    while page := list(islice(marks, _PAGE)):
        for name in {mark.tenant for mark in page if tenant in {None, mark.tenant}}:
            mine = sorted(mark for mark in page if mark.tenant == name)
            ends[name] = max(ends.get(name, 0), mine[-1].n)
            await _compare(reading, mine, report)
    if read.bad:
        report.add(faults.bad_anchor(read.bad[0], many=len(read.bad)))
    for name, last in sorted(ends.items()):
        there = await _last(reading, name, last)
        if there < last:
            report.add(faults.cut_tail(name, there, last))


class _Lines:
    """The seals in an anchor. A crash may have cut a line, which then stands whole in the next."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = lines
        self.bad: list[int] = []

    def __iter__(self) -> Iterator[Mark]:
        cut = (0, "")
        for number, line in enumerate(self._lines, 1):
            bare = line.rstrip("\n")
            if cut[0] and not bare.startswith(cut[1]):
                self.bad.append(cut[0])
            cut = (0, "")
            try:
                yield mark_of(bare)
            except ValueError:
                cut = (number, bare)
        if cut[0] and line.endswith("\n"):
            self.bad.append(cut[0])


async def _compare(reading: SealReading, marks: Sequence[Mark], report: Report) -> None:
    """Marks of one tenant in the order of their numbers."""
    report.chain(marks[0].tenant).anchored += len({mark.n for mark in marks})
    found: dict[int, str] = {}
    for mark in marks:
        if mark.n not in found:
            page = await reading.chain(mark.tenant, mark.n - 1, _PAGE)
            if not page:
                # Nothing follows, so that the tail is cut.
                return
            found |= {seal.n: seal.chained for seal in page}
        there = found.get(mark.n)
        if there is not None and there != mark.chained:
            report.add(faults.forged(mark))


async def _last(reading: SealReading, tenant: str, anchored: int) -> int:
    """The number of the last seal that the store has up to the one in the anchor, or beyond."""
    if await reading.chain(tenant, anchored - 1, 1):
        return anchored
    return await reading.last(tenant)
