"""Killed in every window of a wait: each signal is heard once, in order, and no sleep is lost."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.checker import history, violations
from chaos.faults import Fault
from chaos.recorder import Life, Recorder
from chaos.scenes import answered, seeded
from support.postgres import Server

KILLS = [
    Fault("listen", "before", 2),
    Fault("listen", "after", 4),
    Fault("send", "before", 2),
    Fault("send", "after", 2),
    Fault("sleep", "before", 2),
    Fault("sleep", "after", 4),
    Fault("settle", "before", 4),
    Fault("settle", "after", 1),
    Fault("release_due", "after", 3),
]
EACH = 3
STEPS = 2


@pytest.fixture(params=["sqlite", "postgres"])
def recorder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Recorder]:
    if request.param == "sqlite":
        yield Recorder(tmp_path)
    else:
        server: Server = request.getfixturevalue("postgres_server")
        yield Recorder(tmp_path, server.url_of(f"waits_{abs(hash(tmp_path)) % 10**12}"))


def tell(life: Life, recorder: Recorder) -> None:
    """Send every task its signals; those that it has had are not sent again."""
    for task_id in recorder.log.accepted.values():
        life.say(signal=task_id, values=list(range(STEPS)))


async def test_a_kill_at_any_point_of_a_wait_breaks_no_guarantee(recorder: Recorder) -> None:
    rng = seeded("waits")
    power = not recorder.store
    for number, fault in enumerate(KILLS):
        async with recorder.life(faults=(fault,), cut_power=power) as life:
            keys = [f"{number}-{n}" for n in range(EACH)]
            for key in keys:
                life.submit(key, "heed", recorder.ask(key, steps=STEPS, pause=0.01))
            await answered(life, recorder, keys)
            await asyncio.sleep(rng.uniform(0, 0.3))
            tell(life, recorder)
            await life.killed(within=30)
    assert recorder.lives == len(KILLS)
    async with recorder.life(cut_power=False) as life:
        for key in recorder.log.unknown():
            life.submit(key, "heed", recorder.log.asked[key][1])
        await answered(life, recorder, recorder.log.asked)
        tell(life, recorder)
        await life.idle()
    found = history(recorder)
    assert violations(found) == []
    assert len(found.tasks) == len(KILLS) * EACH
    # One whose claims were killed three times before they had saved anything is a dead letter; a
    # slow machine has more of them.
    done = [task for task in found.tasks.values() if task["status"] == "COMPLETED"]
    dead = [task for task in found.tasks.values() if task["status"] == "DEAD_LETTER"]
    assert len(done) + len(dead) == len(found.tasks)
    assert {task["failure_kind"] for task in dead} <= {"WORKER_LOST"}
    assert len(done) > len(found.tasks) // 2
