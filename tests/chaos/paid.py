"""What was paid for, by the provider's own ledger and by ours: guarantee 5.

5   an answer that is in the ledger, or that a handler has had, is never paid for again, and
    whatever was paid for twice is a call of which nobody knew how it ended
"""

from collections import defaultdict
from typing import Any, NamedTuple

from chaos.dump import opened
from chaos.recorder import Recorder
from engine_kit.engine import lines
from stagepost.simulated.ledger import Ledger


class Row(NamedTuple):
    """A call as the store has it; `state` is INTENT where nobody has told its end."""

    id: str
    task_id: str
    path: str
    request_hash: str
    n: int
    state: str
    late: bool
    started_at: int

    @property
    def key(self) -> tuple[Any, ...]:
        return (self.task_id, self.path, self.request_hash, self.n)

    @property
    def unsure(self) -> bool:
        """Nobody knew its end when its claim was over."""
        return self.state == "INTENT" or self.late


def rows(recorder: Recorder) -> list[Row]:
    """All calls, oldest first; the engine must not run any more."""
    names = ", ".join(Row._fields)
    with opened(recorder.data, recorder.store) as ask:
        found = [
            Row(str(row[0]), str(row[1]), *row[2:]) for row in ask(f"SELECT {names} FROM calls")
        ]
    return sorted(found)


def endings(recorder: Recorder) -> dict[str, tuple[str, str | None]]:
    """By task: its status, and the kind of its failure."""
    with opened(recorder.data, recorder.store) as ask:
        told = ask("SELECT id, status, failure_kind FROM tasks")
    return {str(task_id): (status, kind) for task_id, status, kind in told}


def overpaid(recorder: Recorder, ledger: Ledger) -> list[str]:
    """One sentence for each violation; empty when the guarantee holds."""
    found = rows(recorder)
    unsure = sum(row.unsure for row in found)
    wrong = [*_replayed(found), *_had(recorder, found)]
    if ledger.by_content.excess > unsure:
        wrong.append(f"5 {ledger.by_content.excess} bills too many, {unsure} calls unknown")
    if ledger.received > len(found):
        wrong.append(f"5 the provider was asked {ledger.received} times, in {len(found)} intents")
    return wrong


def _replayed(found: list[Row]) -> list[str]:
    answered: set[tuple[Any, ...]] = set()
    wrong = []
    for row in found:
        if row.key in answered:
            wrong.append(f"5 {row.path} of task {row.task_id} was answered, and sent again")
        if row.state == "RESULT" and not row.late:
            answered.add(row.key)
    return wrong


def _had(recorder: Recorder, found: list[Row]) -> list[str]:
    first: dict[tuple[str, str], int] = {}
    for line in lines(recorder.side_effects):
        if line.startswith("got "):
            _, task_id, path, at = line.split()
            first.setdefault((task_id, path), int(at))
    sent: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in found:
        sent[row.task_id, row.path].append(row.started_at)
    return [
        f"5 {path} of task {task_id} had its answer, and sent its call again"
        for (task_id, path), at in first.items()
        if any(begun > at for begun in sent[task_id, path])
    ]
