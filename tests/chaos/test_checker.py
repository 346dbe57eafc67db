"""The checker is worth something: each guarantee that is broken on purpose turns it red."""

import asyncio
from collections import Counter
from pathlib import Path

from chaos.checker import history
from chaos.recorder import LONG, Recorder
from chaos.scenes import answered, proven, seeded, submit, unbroken
from engine_kit.engine import lines, until


async def loaded(recorder: Recorder, name: str, *, lives: int, seconds: float) -> None:
    """Lives that are killed while tasks are being accepted."""
    rng = seeded(name)
    for number in range(lives):
        async with recorder.life() as life:
            keys = [f"{number}-{n}" for n in range(20)]
            submit(life, recorder, keys, rng)
            await answered(life, recorder, keys)
            await asyncio.sleep(seconds)


async def test_an_answer_before_the_commit_is_found(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, breaks=("early-answer",))
    await loaded(recorder, "early answers", lives=1, seconds=0)
    wrong = await proven(recorder)
    assert any(line.startswith("1") and "is gone" in line for line in wrong)


async def test_a_commit_that_is_not_synced_is_found(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, breaks=("no-sync",))
    await loaded(recorder, "no syncs", lives=1, seconds=0.5)
    assert recorder.lost_bytes > 0
    wrong = await proven(recorder)
    assert any(line.startswith("1") and "is gone" in line for line in wrong)


async def test_a_saved_step_that_is_forgotten_is_found(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, breaks=("forgetful",))
    async with recorder.life() as life:
        life.submit("walk", "walk", recorder.ask("walk", steps=50, pause=0.1))
        await until(lambda: seen(recorder)["saved"] >= 2, LONG)
    async with recorder.life():
        await until(lambda: seen(recorder)["began"] == 2 and said(recorder)[-1] != "began", LONG)
    wrong = await proven(recorder)
    assert any(line.startswith("3") and "ran although" in line for line in wrong)


async def test_the_same_cut_after_synced_commits_loses_nothing(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    await loaded(recorder, "no syncs", lives=2, seconds=0.5)
    await unbroken(recorder)


async def test_a_worker_whose_lease_ran_out_breaks_nothing_behind_the_fence(
    tmp_path: Path,
) -> None:
    recorder = Recorder(tmp_path, deaf_for=2.5, stand_in=True, concurrency=16)
    assert await taken_over(recorder) == []
    assert any("rescued" in line for line in reasons(recorder)), "its claims were taken back"


async def test_without_the_fence_it_does(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, deaf_for=2.5, stand_in=True, concurrency=16, breaks=("no-fence",))
    wrong = await taken_over(recorder)
    assert any(line.startswith(("2", "3")) for line in wrong)


async def taken_over(recorder: Recorder) -> list[str]:
    async with recorder.life() as life:
        for number in range(12):
            key = f"{number}"
            life.submit(key, "walk", recorder.ask(key, steps=25, pause=0.1, hesitates=0.4))
        await answered(life, recorder, list(recorder.log.asked))
        await life.idle()
    return await proven(recorder)


def said(recorder: Recorder) -> list[str]:
    """The first word of each line that the tasks have written."""
    return [line.split()[0] for line in lines(recorder.side_effects)]


def seen(recorder: Recorder) -> Counter[str]:
    return Counter(said(recorder))


def reasons(recorder: Recorder) -> list[str]:
    events = history(recorder).events.values()
    return [data["reason"] for of_task in events for _, kind, data in of_task if kind == "queued"]
