"""A process runs the parts of the engine that it is told to, and no other."""

import asyncio
from pathlib import Path

import pytest

from engine_kit.engine import ALL, finished, reached, short
from engine_kit.handlers import app
from stagepost.options import Options
from stagepost.part import EVERYTHING, Part, parsed, written
from stagepost.task import Status
from stagepost.wiring import open_engine


async def test_without_a_worker_nothing_is_claimed_and_the_rest_works(tmp_path: Path) -> None:
    parts = {Part.API, Part.MAINTENANCE}
    async with open_engine(short(tmp_path), app, parts=parts) as engine:
        later = (await engine.client.submit("plain", {}, options=Options(delay=0.05))).task_id
        await reached(engine, later, Status.QUEUED)
        assert await engine.store.workers() == []
    async with open_engine(short(tmp_path), app) as engine:
        assert (await finished(engine, later)).task.status is Status.COMPLETED


async def test_without_the_maintenance_nothing_is_released(tmp_path: Path) -> None:
    parts = {Part.API, Part.WORKER}
    async with open_engine(short(tmp_path), app, parts=parts) as engine:
        now = (await engine.client.submit("plain", {})).task_id
        later = (await engine.client.submit("plain", {}, options=Options(delay=0.05))).task_id
        assert (await finished(engine, now)).task.status is Status.COMPLETED
        await asyncio.sleep(0.5)
        assert (await engine.store.get(later, ALL)).task.status is Status.PENDING
    async with open_engine(short(tmp_path), app, parts={Part.WORKER, Part.MAINTENANCE}) as engine:
        await reached(engine, later, Status.COMPLETED)


def test_parts_are_named_on_a_command_line() -> None:
    assert parsed(written(EVERYTHING)) == EVERYTHING
    assert written({Part.WORKER, Part.API}) == "api,worker"
    with pytest.raises(ValueError, match="nothing"):
        parsed("api,nothing")
