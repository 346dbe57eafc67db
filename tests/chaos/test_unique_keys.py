"""Of one unique key there is one task at a time, however often the engine is killed."""

import asyncio
import signal
from itertools import pairwise
from pathlib import Path

from chaos.checker import history
from chaos.dump import opened
from chaos.recorder import Life, Recorder
from chaos.scenes import TIMES, seeded, unbroken

REQUESTS = 300 * TIMES
MOST = 70
"""Requests of one life."""

KEYS = ("a", "b", "c")


async def feed(life: Life, recorder: Recorder, numbers: range) -> None:
    """Ask again for what has no answer, and for more of the same few keys."""
    for key in recorder.log.unknown():
        life.submit(key, *recorder.log.asked[key], unique=key[0])
    for number in numbers:
        key = f"{KEYS[number % len(KEYS)]}-{number}"
        life.submit(key, "walk", recorder.ask(key, steps=2, pause=0.001), unique=key[0])
        await asyncio.sleep(0.004)


async def test_under_random_kills_there_are_never_two(tmp_path: Path) -> None:
    rng, recorder, number = seeded("unique keys"), Recorder(tmp_path), 0
    while number < REQUESTS:
        many = rng.randint(20, MOST)
        async with recorder.life() as life:
            await feed(life, recorder, range(number, number + many))
            life.signal(signal.SIGKILL)
            await life.killed()
        number += many
    await unbroken(recorder)
    assert recorder.lives > REQUESTS // MOST
    found = history(recorder)
    answered = set(recorder.log.accepted.values())
    assert found.tasks.keys() == answered, "a task was made that nobody was told of"
    assert len(found.tasks) < number
    with opened(recorder.data, recorder.store) as ask:
        lives = {
            key: ask(
                "SELECT created_at, ended_at FROM tasks JOIN unique_keys ON task_id = id "
                f"WHERE key = '{key}' ORDER BY id"
            )
            for key in KEYS
        }
    assert sum(map(len, lives.values())) > len(KEYS)
    for of_key in lives.values():
        assert all(ended <= born for (_, ended), (born, _) in pairwise(of_key)), of_key
