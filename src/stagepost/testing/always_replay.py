"""Proves that a handler comes to the same end from each of its checkpoints."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from stagepost.journal import NewStep
from stagepost.outcome import Succeeded
from stagepost.registry import App
from stagepost.testing.run_task import TaskRun, run_task

MOST_CUTS: Final = 100
"""Replays of one handler; of more steps than that, this many cuts are spread over them evenly."""


async def always_replay(
    app: App,
    type: str,  # noqa: A002  # the word that users know
    input: Any = None,  # noqa: A002
    *,
    uploads: Mapping[str, bytes | Path] | None = None,
    signals: Mapping[str, Sequence[Any]] | None = None,
    version: int | None = None,
) -> TaskRun:
    """Run a task, then again from its checkpoints, cut after each saved step; answers the first.

    `version` is that of `run_task`.

    So a crash at every point between two steps is played through. Raises AssertionError, which says
    where, when a replay takes another path (a step's name, order within its scope, or arguments
    differ) or comes to another result. Steps behind the cut run again, so they must give the same
    for the same arguments: script what is random or asks the world outside.
    """
    first = await run_task(app, type, input, uploads=uploads, signals=signals, version=version)
    if not isinstance(first.outcome, Succeeded):
        # Not a fault of the caller's types: it is what the test has found.
        raise AssertionError(  # noqa: TRY004
            f"The first run of {type} did not succeed: {first.error!r}."
        )
    for cut in _cuts(len(first.checkpoints)):
        saved = dict(islice(first.checkpoints.items(), cut))
        left = _untaken(signals or {}, saved.values())
        again = await run_task(
            app,
            type,
            input,
            uploads=uploads,
            checkpoints=saved,
            attempt=2,
            signals=left,
            version=version,
            task_id=first.task_id,
        )
        expected = [path for path in first.asked if not _within(path, saved)]
        _compare(type, again, expected, first.result, _place(first, cut))
    return first


def _untaken(
    signals: Mapping[str, Sequence[Any]], steps: Collection[NewStep]
) -> dict[str, Sequence[Any]]:
    taken = Counter(step.name for step in steps if step.text != "[]")
    return {name: values[taken[f"wait_for {name}"] :] for name, values in signals.items()}


def _cuts(steps: int) -> list[int]:
    if steps < MOST_CUTS:
        return list(range(steps + 1))
    return sorted({round(steps * n / (MOST_CUTS - 1)) for n in range(MOST_CUTS)})


def _place(first: TaskRun, cut: int) -> str:
    if cut == 0:
        return "without any checkpoint"
    return f'cut after the step "{list(first.checkpoints)[cut - 1]}"'


def _within(path: str, saved: Collection[str]) -> bool:
    """Whether a step stands inside a saved one, which does not run again."""
    parts = path.split("/")
    return any("/".join(parts[:n]) in saved for n in range(1, len(parts)))


def _compare(name: str, again: TaskRun, expected: list[str], result: Any, place: str) -> None:
    if again.error is not None:
        raise AssertionError(f"A replay of {name}, {place}, failed: {again.error!r}.")
    came, due = set(again.asked), set(expected)
    missed = [path for path in expected if path not in came]
    added = [path for path in again.asked if path not in due]
    if missed or added:
        raise AssertionError(
            f"A replay of {name}, {place}, took another path: it left out {_list(missed)} and "
            f"came to {_list(added)}. Take what decides (time, chance, the world outside) in a "
            "step, so that it is saved."
        )
    if again.result != result:
        raise AssertionError(
            f"A replay of {name}, {place}, came to another result: {_short(again.result)} "
            f"instead of {_short(result)}. What the result is made of must come from the "
            "input and from steps."
        )


def _list(paths: list[str]) -> str:
    return ", ".join(paths[:5]) + (", ..." if len(paths) > 5 else "") if paths else "nothing"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + "..."
