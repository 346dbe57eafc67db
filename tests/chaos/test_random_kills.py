"""A thousand tasks while the engine is killed, stopped and drained at random."""

import asyncio
import signal
from pathlib import Path
from random import Random

import pytest

from chaos.checker import history
from chaos.recorder import Life, Recorder
from chaos.scenes import TIMES, answered, seeded, submit, unbroken

TASKS = 1_000 * TIMES


@pytest.mark.timeout(900)
async def test_a_thousand_tasks_under_random_kills(tmp_path: Path) -> None:
    rng, recorder = seeded("random kills"), Recorder(tmp_path)
    number = 0
    while number < TASKS or recorder.lives < TASKS // 250:
        async with recorder.life() as life:
            again = [key for key in recorder.log.unknown() if rng.random() < 0.5]
            for task_id in rng.sample(sorted(recorder.log.accepted.values()), min(3, number)):
                life.watch(task_id)
            feeding = asyncio.create_task(feed(life, recorder, rng, number, again))
            await end(life, rng)
            number = await feeding
    await unbroken(recorder)
    found = history(recorder)
    assert len(found.tasks) == len(recorder.log.asked) == number
    completed = sum(task["status"] == "COMPLETED" for task in found.tasks.values())
    assert completed > number / 2


async def feed(life: Life, recorder: Recorder, rng: Random, number: int, again: list[str]) -> int:
    submit(life, recorder, again, rng)
    while not life.over.is_set() and number < TASKS:
        keys = [f"{number + n}" for n in range(rng.randint(1, 12))]
        number += len(keys)
        submit(life, recorder, keys, rng)
        if rng.random() < 0.3:
            await answered(life, recorder, keys)
        if rng.random() < 0.1 and recorder.log.accepted:
            life.say(cancel=rng.choice(sorted(recorder.log.accepted.values())))
        await asyncio.sleep(rng.uniform(0, 0.06))
    return number


async def end(life: Life, rng: Random) -> None:
    """The end of one life: mostly a kill, sometimes a stop past the lease or a drain before."""
    await asyncio.sleep(rng.uniform(0.1, 1.5))
    fate = rng.random()
    if fate < 0.15:
        life.signal(signal.SIGSTOP)
        await asyncio.sleep(1.3)
        life.signal(signal.SIGCONT)
        await asyncio.sleep(rng.uniform(0.1, 0.6))
    if fate > 0.85:
        life.signal(signal.SIGTERM)
        await asyncio.sleep(rng.uniform(0, 0.5))
    life.signal(signal.SIGKILL)
    await life.killed()
