"""What a program does with schedules, without HTTP."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from stagepost import App, Caller, Upload, timing
from stagepost.errors import Conflict, Invalid, NotFound
from stagepost.records import Scope
from stagepost.scheduling import Scheduling, Wish, wish_of
from stagepost.timing import EARLIEST
from support.world import World, a_world, open_sqlite

ACME = Caller("acme", "ann", Scope("acme"))


class Report(BaseModel):
    day: str
    pages: int = 1


class Letter(BaseModel):
    file: Upload
    more: list[Upload] = []


def sample_app() -> App:
    app = App()

    @app.task("report", lane="batch", deadline="2h")
    async def report(ctx: Any, request: Report) -> None:
        """Never run here: what counts is its registration."""
        raise NotImplementedError

    @app.task("letter")
    async def letter(ctx: Any, request: Letter) -> None:
        """Never run here."""
        raise NotImplementedError

    return app


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(open_sqlite, tmp_path / "data") as world:
        yield world


@pytest.fixture
def scheduling(world: World) -> Scheduling:
    return Scheduling(sample_app(), world.store.schedules, ("interactive", "batch"))


WISH = Wish(name="daily", type="report", input=Report(day="{plannedAt}"), cron="0 6 * * *")


async def test_a_model_is_an_input_and_the_types_options_are_kept(scheduling: Scheduling) -> None:
    schedule = await scheduling.create(WISH, caller=ACME)
    assert schedule.plan.input == '{"day":"{plannedAt}","pages":1}'
    assert (schedule.plan.lane, schedule.plan.ttl) == ("batch", 7_200.0)
    assert (schedule.tenant, schedule.user) == ("acme", "ann")
    assert await scheduling.find(caller=ACME) == [schedule]
    assert await scheduling.find() == []
    with pytest.raises(NotFound):
        await scheduling.get(schedule.id)


async def test_what_a_schedule_is_can_be_wished_again(scheduling: Scheduling) -> None:
    schedule = await scheduling.create(WISH)
    same = await scheduling.change(schedule, wish_of(schedule))
    assert same == replace(schedule, version=2)


async def test_what_stays_is_not_checked_again(world: World, scheduling: Scheduling) -> None:
    """A type whose input has changed can still be paused."""
    at = await scheduling.create(
        replace(WISH, cron=None, at=world.clock.now() + 60_000, input={"day": "x"})
    )
    world.clock.advance(120)
    paused = await scheduling.change(at, replace(wish_of(at), paused=True))
    assert paused.plan.paused
    with pytest.raises(Invalid, match="future"):
        await scheduling.change(paused, replace(wish_of(paused), at=world.clock.now() - 1))


async def test_a_change_of_what_was_changed_meanwhile_is_refused(scheduling: Scheduling) -> None:
    schedule = await scheduling.create(WISH)
    await scheduling.change(schedule, replace(wish_of(schedule), name="other"))
    with pytest.raises(Conflict, match="changed meanwhile"):
        await scheduling.change(schedule, replace(wish_of(schedule), name="third"))


@pytest.mark.parametrize("given", [{}, {"file": "019"}, {"file": "019", "more": ["019"]}])
async def test_files_can_not_be_scheduled(scheduling: Scheduling, given: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refused:
        await scheduling.create(Wish(name="a", type="letter", input=given, every=60))
    for where, says in refused.value.errors:
        assert where[0] == "input"
        assert says == "The input of a schedule can't name files."


@pytest.mark.parametrize("value", [{"day": object()}, {"day": "\ud800"}, float("nan"), [1]])
async def test_what_is_no_input_is_refused(scheduling: Scheduling, value: Any) -> None:
    with pytest.raises(Invalid) as refused:
        await scheduling.create(replace(WISH, input=value))
    assert {where[0] for where, _ in refused.value.errors} == {"input"}


async def test_one_whose_time_zone_is_gone_is_told_so(
    scheduling: Scheduling, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule = await scheduling.create(replace(WISH, timezone="Europe/Berlin"))
    monkeypatch.setattr(timing, "_zones", lambda: {"UTC"})
    with pytest.raises(Invalid, match="no time zone"):
        await scheduling.change(schedule, replace(wish_of(schedule), paused=True))
    with pytest.raises(Conflict, match="no time zone"):
        await scheduling.backfill(schedule.id, EARLIEST, EARLIEST + 1)
    mended = await scheduling.change(schedule, replace(wish_of(schedule), timezone="UTC"))
    assert mended.next_at is not None


async def test_an_input_that_is_too_large_is_refused(scheduling: Scheduling) -> None:
    with pytest.raises(Invalid, match="64 KiB"):
        await scheduling.create(replace(WISH, input={"day": "x" * 64 * 1024}))
