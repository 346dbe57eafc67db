"""Killed before and after a schedule is fired: each planned instant has one task, and only one."""

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chaos.dump import opened
from chaos.faults import Fault
from chaos.recorder import LONG, Life, Recorder
from support.postgres import Server

KILLS = [
    Fault("due", "after", 2),
    Fault("fire", "before", 1),
    Fault("fire", "after", 1),
    Fault("fire", "after", 2),
    Fault("proceed", "before", 1),
    Fault("proceed", "after", 1),
]


@pytest.fixture(params=["sqlite", "postgres"])
def recorder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Recorder]:
    if request.param == "sqlite":
        yield Recorder(tmp_path)
        return
    server: Server = request.getfixturevalue("postgres_server")
    yield Recorder(tmp_path, server.url_of(f"schedules_{abs(hash(tmp_path)) % 10**12}"))


async def test_a_kill_at_any_point_of_a_firing_makes_no_run_twice_and_loses_none(
    recorder: Recorder,
) -> None:
    cut = not recorder.store
    async with recorder.life(cut_power=cut) as life:
        life.say(schedule="pulse", type="walk", input=recorder.ask("pulse", steps=1))
        await _until(lambda: len(_runs(recorder)) >= 2, life)
    for fault in KILLS:
        async with recorder.life(cut_power=cut, faults=(fault,)) as life:
            await life.killed()
    before = max(planned for planned, _, _ in _runs(recorder))
    async with recorder.life(cut_power=cut) as life:
        await _until(lambda: _settled(recorder) > before + 2_000, life)
    _prove(recorder)


async def test_a_leader_that_is_killed_is_replaced_and_no_run_is_made_twice(
    postgres_server: Server, tmp_path: Path
) -> None:
    recorder = Recorder(tmp_path, postgres_server.url_of(f"leaders_{abs(hash(tmp_path)) % 10**12}"))
    async with recorder.life(cut_power=False) as last:
        for number in range(3):
            async with recorder.life(cut_power=False) as other:
                if number == 0:
                    other.say(schedule="pulse", type="walk", input=recorder.ask("pulse", steps=1))
                await _until(lambda: len(_runs(recorder)) > 2, other)
                # Both look; only one of them leads, and it may be this one.
                other.signal(signal.SIGKILL)
            newest = max(planned for planned, _, _ in _runs(recorder))
            await _until(lambda newest=newest: _settled(recorder) > newest + 1_000, last)
    _prove(recorder)


def _prove(recorder: Recorder) -> None:
    runs = _runs(recorder)
    instants = sorted(planned for planned, _, _ in runs)
    assert instants == list(range(instants[0], instants[-1] + 1, 1_000)), "none is lost"
    tasks = _tags(recorder)
    assert len(tasks) == len(set(tasks.values())), "no instant has two tasks"
    with_task = {task: planned for planned, task, _ in runs if task is not None}
    assert set(with_task) == set(tasks), "a run and its task are there together"


def _runs(recorder: Recorder) -> list[tuple[int, str | None, bool]]:
    rows = _ask(recorder, "SELECT planned_at, task_id, open FROM schedule_runs")
    return [(row[0], row[1] and str(row[1]), bool(row[2])) for row in rows]


def _settled(recorder: Recorder) -> int:
    """The latest instant up to which every run is a task."""
    waiting = [planned for planned, task, _ in _runs(recorder) if task is None]
    return min([*waiting, max(planned for planned, _, _ in _runs(recorder))])


def _tags(recorder: Recorder) -> dict[str, str]:
    """By task: the planned instant that it is tagged with."""
    rows = _ask(recorder, "SELECT task_id, tag FROM tags WHERE tag LIKE 'planned:%'")
    return {str(row[0]): row[1] for row in rows}


def _ask(recorder: Recorder, sql: str) -> list[tuple[Any, ...]]:
    with opened(recorder.data, recorder.store) as ask:
        return ask(sql)


async def _until(happens: Any, life: Life) -> None:
    async with asyncio.timeout(LONG):
        while not happens():
            assert not life.over.is_set(), "the engine has ended"
            await asyncio.sleep(0.2)
