"""The sealer on a real store: what it seals, and what it sends where."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from stagepost.anchors.file import FileAnchor
from stagepost.auditing import verify
from stagepost.errors import AnchorUnavailable
from stagepost.maintenance import sealer
from stagepost.maintenance.sealer import Sealer
from support.calls import answered
from support.world import World, a_world, open_sqlite


class Flaky:
    """An anchor that can be away."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.away = False
        self.asked = 0

    async def keep(self, lines: Sequence[str]) -> None:
        self.asked += 1
        if self.away:
            raise AnchorUnavailable("The anchor is away.")
        self.lines += lines

    async def close(self) -> None:
        """Nothing to do."""


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(open_sqlite, tmp_path / "data") as world:
        yield world


async def test_what_has_ended_is_sealed_and_sent(world: World, tmp_path: Path) -> None:
    file = tmp_path / "anchor.jsonl"
    loop = Sealer(world.store, world.clock, FileAnchor(file))
    for tenant in ("acme", "zeta"):
        await answered(world, await world.running(tenant=tenant))
    assert not await loop.look()
    report = await verify(world.store.seals, anchor=file.read_text().splitlines(keepends=True))
    assert report.sound
    for chain in report.chains.values():
        assert (chain.seals, chain.anchored, chain.waiting, chain.unsent) == (1, 1, 0, 0)
    assert not await loop.look()
    assert len(file.read_text().splitlines()) == 2


async def test_while_the_anchor_is_away_seals_are_kept_for_it(world: World) -> None:
    anchor = Flaky()
    anchor.away = True
    loop = Sealer(world.store, world.clock, anchor)
    claimed = await world.running()
    for _ in range(3):
        await answered(world, claimed)
        await loop.look()
    assert anchor.asked == 1
    assert await world.store.seals.unsent_counts() == {"acme": 3}
    anchor.away = False
    world.clock.advance(1)
    await loop.look()
    assert len(anchor.lines) == 3
    assert (await verify(world.store.seals, anchor=anchor.lines)).sound
    assert await world.store.seals.unsent_counts() == {}


async def test_an_anchor_that_comes_later_gets_what_was_before(world: World) -> None:
    await answered(world, await world.running())
    await Sealer(world.store, world.clock, None).look()
    anchor = Flaky()
    await Sealer(world.store, world.clock, anchor).look()
    assert len(anchor.lines) == 1


async def test_seals_that_a_crash_let_come_twice_are_one(world: World, tmp_path: Path) -> None:
    anchor = Flaky()
    await answered(world, await world.running())
    await Sealer(world.store, world.clock, anchor).look()
    report = await verify(world.store.seals, anchor=anchor.lines * 2)
    assert (report.sound, report.chains["acme"].anchored) == (True, 1)


async def test_no_tenant_waits_for_a_busy_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealer, "_TENANTS", 2)
    monkeypatch.setattr(sealer, "_FACTS", 3)
    loop = Sealer(world.store, world.clock, None)
    for tenant in ("a", "b", "c"):
        claimed = await world.running(tenant=tenant)
        for _ in range(4):
            await answered(world, claimed)
    assert await loop.look()
    assert await world.store.seals.tenants("", 10) == ["a"]
    assert await loop.look()
    assert await world.store.seals.tenants("", 10) == ["a", "c"]
    for _ in range(10):
        await loop.look()
    assert await world.store.seals.waiting() == {}
    assert (await verify(world.store.seals)).sound
