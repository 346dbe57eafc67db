"""Of one unique key there is one task at a time, however often the engine is killed."""

import asyncio
from itertools import pairwise
from pathlib import Path

from chaos.checker import history
from chaos.dump import opened
from chaos.recorder import Life, Recorder
from chaos.scenes import TIMES, proven, seeded

REQUESTS = 300 * TIMES
KEYS = ("a", "b", "c")


async def feed(life: Life, recorder: Recorder, number: int) -> int:
    """Ask again for what has no answer, and for more of the same few keys."""
    for key in recorder.log.unknown():
        life.submit(key, *recorder.log.asked[key], unique=key[0])
    while not life.over.is_set() and number < REQUESTS:
        key = f"{KEYS[number % len(KEYS)]}-{number}"
        life.submit(key, "walk", recorder.ask(key, steps=2, pause=0.001), unique=key[0])
        number += 1
        await asyncio.sleep(0.004)
    return number


async def test_under_random_kills_there_are_never_two(tmp_path: Path) -> None:
    rng, recorder, number = seeded("unique keys"), Recorder(tmp_path), 0
    while number < REQUESTS:
        async with recorder.life() as life:
            feeding = asyncio.create_task(feed(life, recorder, number))
            await asyncio.sleep(rng.uniform(0.2, 0.8))
            life.signal(9)
            await life.killed()
            number = await feeding
    assert await proven(recorder) == []
    assert recorder.lives > 3
    found = history(recorder)
    answered = set(recorder.log.accepted.values())
    assert found.tasks.keys() == answered, "a task was made that nobody was told of"
    assert 3 < len(found.tasks) < REQUESTS
    with opened(recorder.data, recorder.store) as ask:
        for key in KEYS:
            lives = ask(
                "SELECT created_at, ended_at FROM tasks JOIN unique_keys ON task_id = id "
                f"WHERE key = '{key}' ORDER BY id"
            )
            assert len(lives) > 1
            assert all(ended <= born for (_, ended), (born, _) in pairwise(lives)), lives
