"""Killed before and after the calls of every port that a task's path crosses."""

import asyncio
from pathlib import Path

import pytest

from chaos.faults import Fault
from chaos.recorder import Recorder
from chaos.scenes import answered, seeded, submit, unbroken
from engine_kit.engine import until

KILLS = [
    Fault("submit", "before", 3),
    Fault("submit", "after", 3),
    Fault("claim", "before", 2),
    Fault("claim", "after", 2),
    Fault("checkpoint", "before", 2),
    Fault("checkpoint", "after", 2),
    Fault("progress", "after", 1),
    Fault("settle", "before", 2),
    Fault("settle", "after", 2),
    Fault("stage", "after", 1),
    Fault("put", "before", 1),
    Fault("put", "after", 1),
    Fault("register", "after", 1),
    Fault("rescue", "before", 1),
    Fault("rescue", "after", 1),
    Fault("beat", "before", 2),
    Fault("release_due", "after", 2),
    Fault("news", "after", 1),
]

BREAKS = tuple(
    Fault(verb, "before", n, "break")
    for verb in ("claim", "checkpoint", "settle", "beat", "release_due", "stage", "put", "steps")
    for n in (1, 2, 4)
)


async def test_a_kill_at_any_point_breaks_no_guarantee(tmp_path: Path) -> None:
    rng, recorder = seeded("named points"), Recorder(tmp_path)
    for number, fault in enumerate(KILLS):
        async with recorder.life(faults=(fault,)) as life:
            keys = [f"{number}-{n}" for n in range(5)]
            for key in keys:
                submit(life, recorder, [key], rng)
            await answered(life, recorder, keys)
            for key in keys[:2]:
                if key in recorder.log.accepted:
                    life.watch(recorder.log.accepted[key])
            await life.killed(within=30)
    assert recorder.lives == len(KILLS)
    await unbroken(recorder)
    assert len(recorder.log.accepted) == len(recorder.log.asked)


async def test_writes_that_fail_for_a_while_lose_nothing(tmp_path: Path) -> None:
    rng, recorder = seeded("breaks"), Recorder(tmp_path)
    async with recorder.life(faults=BREAKS) as life:
        keys = [f"{n}" for n in range(30)]
        submit(life, recorder, keys, rng)
        await answered(life, recorder, keys)
        await life.idle()
    await unbroken(recorder)


@pytest.mark.parametrize("verb", ["claim", "checkpoint", "settle"])
async def test_a_process_stopped_past_its_lease_goes_on_where_it_was(
    verb: str, tmp_path: Path
) -> None:
    rng, recorder = seeded(f"stopped at {verb}"), Recorder(tmp_path)
    async with recorder.life(faults=(Fault(verb, "before", 3, "stop"),)) as life:
        keys = [f"{n}" for n in range(20)]
        submit(life, recorder, keys, rng)
        await stopped(life.pid)
        await asyncio.sleep(1.6)  # the lease is 1 s
        life.signal(18)  # SIGCONT
        await answered(life, recorder, keys)
        await life.idle()
    await unbroken(recorder)


async def stopped(pid: int) -> None:
    await until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
