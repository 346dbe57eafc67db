"""Corrected inputs that redrives have not handed on yet: they go with the tasks they are for.

Who goes on with a redrive locks it before its tasks, and who erases a task has that locked already:
so it does not wait for a redrive, but lets the caller try again.
"""

from typing import Final

from stagepost import mass
from stagepost.stores.postgres.mass import SELECT, find, keep
from stagepost.stores.postgres.transaction import Transaction
from stagepost.stores.tombstones import changed_meanwhile

_NAMING: Final = """
SELECT id FROM mass_changes WHERE open AND kind = 'redrive' AND strpos(spec, $1::text) > 0"""
_UNLESS_LOCKED: Final = f"{SELECT} FOR UPDATE SKIP LOCKED"


async def forget(tx: Transaction, task_id: str, now: int) -> None:
    """Stop the redrives that have an input for a task which is erased, and forget the input.

    The task is locked. Raises Conflict when such a redrive is just going on.
    """
    for row in await tx.connection.fetch(_NAMING, task_id):
        found = await find(tx.connection, SELECT, str(row[0]))
        if found is None or not mass.awaits(found[0], task_id):
            continue
        locked = await find(tx.connection, _UNLESS_LOCKED, str(row[0]))
        if locked is None:
            raise changed_meanwhile()
        if mass.awaits(locked[0], task_id):
            await keep(tx, locked[0], mass.bereft(locked[1], task_id, now))
