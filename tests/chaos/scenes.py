"""What the scenarios share: seeds, a mix of tasks, and the last life in which all must end."""

import asyncio
import os
import signal
from collections.abc import Iterable
from random import Random

from chaos.checker import history, violations
from chaos.recorder import LONG, Life, Recorder

TYPES = ("walk", "fan", "stumble", "park", "refuse", "large")
BLOCKING = 0.04
"""The share of sync handlers: each may start a process, which takes a while."""

TIMES = int(os.environ.get("CHAOS_TIMES", "1"))
"""How many times longer than in the daily tests; `make chaos` sets it."""


def seeded(name: str) -> Random:
    """A source of chance; `CHAOS_SEED` replays what a run has printed."""
    seed = os.environ.get("CHAOS_SEED", "20261")
    print(f"CHAOS_SEED={seed} replays {name}")  # noqa: T201  # pytest shows it with a failure
    return Random(f"{seed} {name}")


def submit(life: Life, recorder: Recorder, keys: Iterable[str], rng: Random) -> None:
    """Ask for a task of any type under each key; one that was asked before is asked again."""
    for key in keys:
        if key in recorder.log.asked:
            type_name, given = recorder.log.asked[key]
        else:
            type_name = "block" if rng.random() < BLOCKING else rng.choice(TYPES)
            given = recorder.ask(key, steps=rng.randint(1, 4), pause=rng.choice((0.001, 0.02)))
        life.submit(key, type_name, given)


async def answered(life: Life, recorder: Recorder, keys: Iterable[str]) -> None:
    """Wait until every key was accepted, or the process is dead."""
    waiting = set(keys)
    async with asyncio.timeout(LONG):
        while not life.over.is_set():
            if not waiting - recorder.log.accepted.keys():
                return
            await asyncio.sleep(0.01)


async def last_life(recorder: Recorder) -> None:
    """Ask again for what has no answer, and let everything come to its end."""
    async with recorder.life(cut_power=False, deaf_for=0.0, stand_in=False, breaks=()) as life:
        unknown = recorder.log.unknown()
        submit(life, recorder, unknown, Random(0))
        await answered(life, recorder, unknown)
        for task_id in recorder.log.seen:
            life.watch(task_id)
        await life.idle()
        await asyncio.sleep(0.3)  # for the readers
        life.signal(signal.SIGTERM)
        await life.killed()


class GuaranteeBroken(AssertionError):
    """What was found is no accident of the machine."""


async def unbroken(recorder: Recorder) -> None:
    """The last life, after which no guarantee may be broken."""
    if wrong := await proven(recorder):
        raise GuaranteeBroken("\n".join(wrong))


async def proven(recorder: Recorder) -> list[str]:
    """The last life, then what is wrong; the engine's own log is shown if anything is."""
    wrong = ["it did not come to its end"]
    try:
        await last_life(recorder)
        wrong = violations(history(recorder))
    finally:
        if wrong:
            print((recorder.folder / "stderr").read_text()[-20_000:])  # noqa: T201
    return wrong
