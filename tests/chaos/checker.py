"""Proves or refutes the guarantees from what was recorded, and from nothing else."""

import json
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from chaos.dump import Ask as AskStore
from chaos.dump import opened
from chaos.recorder import ClientLog, Recorder
from chaos.tasks import Ask, expected

ENDS = {"COMPLETED": "completed", "CANCELLED": "cancelled", "DEAD_LETTER": "failed"}


@dataclass(frozen=True)
class History:
    """What the client was told, what happened outside, and what the store holds in the end."""

    client: ClientLog
    side_effects: list[list[str]]
    tasks: dict[str, dict[str, Any]]
    events: dict[str, list[tuple[int, str, dict[str, Any]]]]
    steps: dict[str, set[str]]
    blobs: Path


def history(recorder: Recorder) -> History:
    """Read it all; the engine must not run any more."""
    with opened(recorder.data, recorder.store) as ask:
        return _read(recorder, ask)


def _read(recorder: Recorder, ask: AskStore) -> History:
    names = ("id", "type", "status", "input", "result", "result_blob", "progress")
    rows = ask(f"SELECT {', '.join(names)} FROM tasks")
    events: dict[str, list[tuple[int, str, dict[str, Any]]]] = defaultdict(list)
    for task_id, seq, kind, data in ask(
        "SELECT task_id, seq, kind, data FROM events ORDER BY task_id, seq"
    ):
        events[str(task_id)].append((seq, kind, json.loads(data)))
    steps: dict[str, set[str]] = defaultdict(set)
    for task_id, path in ask("SELECT task_id, path FROM steps"):
        steps[str(task_id)].add(path)
    lines = recorder.side_effects.read_text().splitlines() if recorder.side_effects.exists() else []
    return History(
        recorder.log,
        [line.split() for line in lines],
        {str(row[0]): dict(zip(names, row, strict=True)) for row in rows},
        events,
        steps,
        recorder.data / "blobs",
    )


def violations(found: History) -> list[str]:
    """One sentence for each broken guarantee, beginning with its number; empty when all hold."""
    return [
        *_accepted_tasks_are_there(found),
        *_every_task_has_ended(found),
        *_at_most_one_completion(found),
        *_results_are_right(found),
        *_no_saved_step_ran_again(found),
        *_events_are_whole(found),
        *_readers_missed_nothing(found),
    ]


def _accepted_tasks_are_there(found: History) -> list[str]:
    wrong = [
        f"1 task {task_id} was accepted as {key} and is gone"
        for key, task_id in found.client.accepted.items()
        if task_id not in found.tasks
    ]
    by_key: dict[str, list[str]] = defaultdict(list)
    for task_id, task in found.tasks.items():
        by_key[json.loads(task["input"])["key"]].append(task_id)
    wrong += [f"1 {key} was accepted twice: {ids}" for key, ids in by_key.items() if len(ids) > 1]
    wrong += [f"1 {key} was never asked for" for key in by_key if key not in found.client.asked]
    return wrong


def _every_task_has_ended(found: History) -> list[str]:
    return [
        f"1 task {task_id} is {task['status']}, which is no end"
        for task_id, task in found.tasks.items()
        if task["status"] not in ENDS
    ]


def _at_most_one_completion(found: History) -> list[str]:
    wrong = []
    for task_id, task in found.tasks.items():
        completions = sum(kind == "completed" for _, kind, _ in found.events[task_id])
        if completions != (task["status"] == "COMPLETED"):
            wrong.append(f"2 task {task_id} is {task['status']} with {completions} completions")
    return wrong


def _results_are_right(found: History) -> list[str]:
    wrong = []
    for task_id, task in found.tasks.items():
        if task["status"] == "COMPLETED":
            due = expected(task["type"], Ask(**json.loads(task["input"])))
            if _result(found, task) != due:
                wrong.append(f"2 task {task_id} has another result than {str(due)[:40]}")
    return wrong


def _result(found: History, task: dict[str, Any]) -> Any:
    key = task["result_blob"]
    if key is None:
        return None if task["result"] is None else json.loads(task["result"])
    file = found.blobs / key[-2:] / key
    return json.loads(file.read_text()) if file.exists() else "a lost blob"


def _no_saved_step_ran_again(found: History) -> list[str]:
    """Not in a task's newest claim, nor in the claim that saved it.

    A worker that is stopped past its lease in the moment in which it begins a step runs one that
    its successor has meanwhile saved: nobody can tell it. What it gets is refused.
    """
    saved: dict[str, dict[str, str]] = defaultdict(dict)
    newest: dict[str, str] = {}
    wrong = []
    for word, task_id, *rest in found.side_effects:
        match word, rest:
            case "began", [claim]:
                newest[task_id] = claim
            case "saved", [step, claim]:
                saved[task_id].setdefault(step, claim)
            case "ran", [step, claim]:
                if saved[task_id].get(step) and claim in {newest[task_id], saved[task_id][step]}:
                    wrong.append(f"3 step {step} of task {task_id} ran although it was saved")
    for task_id, paths in found.steps.items():
        told = [data["path"] for _, kind, data in found.events[task_id] if kind == "step"]
        if sorted(told) != sorted(paths):
            wrong.append(f"3 task {task_id} has the steps {sorted(paths)} and told of {told}")
    return wrong


def _events_are_whole(found: History) -> list[str]:
    wrong = []
    for task_id, task in found.tasks.items():
        events = found.events[task_id]
        if [seq for seq, _, _ in events] != list(range(1, len(events) + 1)):
            wrong.append(f"4 the events of task {task_id} have gaps")
        kinds = [kind for _, kind, _ in events]
        last = ENDS.get(task["status"])
        if last is not None and kinds[-1:] != [last]:
            wrong.append(f"4 the last event of task {task_id}, {task['status']}, is {kinds[-1:]}")
        if any(_goes_on(kind, then) for kind, then in pairwise(kinds)):
            wrong.append(f"4 something follows the end of task {task_id}: {kinds}")
        told = [data["progress"] for _, kind, data in events if kind == "progress"]
        if told != sorted(told):
            wrong.append(f"4 the progress of task {task_id} has fallen: {told}")
    return wrong


def _goes_on(kind: str, then: str) -> bool:
    """Whether something follows an end; only a dead letter can be sent back."""
    return kind in {"completed", "cancelled"} or (kind == "failed" and then != "redriven")


def _readers_missed_nothing(found: History) -> list[str]:
    return [
        f"4 a reader of task {task_id} saw {seen} of {len(found.events[task_id])} events"
        for task_id, seen in found.client.seen.items()
        if task_id in found.tasks and seen != list(range(1, len(found.events[task_id]) + 1))
    ]
