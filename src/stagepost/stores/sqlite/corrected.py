"""Corrected inputs that redrives have not handed on yet: they go with the tasks they are for."""

from typing import Final

from stagepost import mass
from stagepost.stores.sqlite.mass import find, keep
from stagepost.stores.sqlite.transaction import Transaction

_NAMING: Final = """
SELECT id FROM mass_changes WHERE open AND kind = 'redrive' AND instr(spec, ?) > 0"""


def forget(tx: Transaction, task_id: str) -> None:
    """Stop the redrives that have an input for a task which is erased, and forget the input."""
    for change_id in tx.column(_NAMING, (task_id,)):
        found = find(tx.connection, change_id)
        if found is not None and mass.awaits(found[0], task_id):
            keep(tx, found[0], mass.bereft(found[1], task_id, tx.now))
