"""What claims write: progress, checkpoints, artifacts and their ends, in that order.

A batch of plain successes is one statement. Any other batch is one transaction of a few: one for
all progress and checkpoints, one for all successes, and the lifecycle's way for every other end.
Every one of them checks in the statement itself that the lease owns the task.
"""

from collections.abc import Sequence

from stagepost.outcome import Succeeded
from stagepost.stores.postgres import artifacts, checkpoints, settling
from stagepost.stores.postgres.answers import Intent
from stagepost.stores.postgres.fenced import Answer, Kind, Write, of_kind, sound
from stagepost.stores.postgres.held import Held
from stagepost.stores.postgres.transaction import Transaction


async def write(tx: Transaction, writes: Sequence[Write], held: Held) -> list[Answer]:
    """Write a batch; answers None where it was done."""
    if all(_is_plain(each) for each in writes) and not _keyed(writes, held):
        return await settling.succeed(tx, writes, held)
    answers: dict[int, Answer] = {}
    async with tx.connection.transaction():
        answers |= await checkpoints.save(tx, of_kind(writes, Kind.PROGRESS, Kind.STEP))
        for number, each in of_kind(writes, Kind.ARTIFACT):
            answers[number] = await artifacts.attach(tx, each.lease, each.what)
        answers |= await settling.settle(tx, of_kind(writes, Kind.SETTLE), held)
    return [answers[number] for number in range(len(writes))]


def _is_plain(each: Write) -> bool:
    return type(each.what) is Succeeded and each.note is None and sound(each.lease)


def _keyed(writes: Sequence[Write], held: Held) -> bool:
    return bool(held.keys) and any(each.lease.task_id in held.keys for each in writes)


def second_ends(batch: list[Intent]) -> list[Intent]:
    """Ends of tasks whose end is in the batch already."""
    seen: set[str] = set()
    later = []
    for intent in batch:
        write: Write = intent.argument
        if write.kind is Kind.SETTLE:
            if write.lease.task_id in seen:
                later.append(intent)
            seen.add(write.lease.task_id)
    return later
