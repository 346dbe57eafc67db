"""Which claims this process has made and not ended yet."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

Place = tuple[str, str]
"""A task's type and lane."""

Key = tuple[str, str]
"""A tenant and a concurrency key of it."""


_NONE: Final[dict[str, Place]] = {}


class Held:
    """Each lease with its tasks; tells when a lease is over, and by what its ends are counted."""

    def __init__(self) -> None:
        self._leases: dict[str, dict[str, Place]] = {}
        self.keys: dict[str, Key] = {}
        """Of the tasks that have a concurrency key."""

    def took(self, lease_id: str, places: dict[str, Place], keys: Mapping[str, Key]) -> None:
        """A claim was made."""
        self._leases[lease_id] = places
        self.keys.update(keys)

    def places(self, ends: Iterable[tuple[str, str]]) -> dict[str, Place | None]:
        """By task, of (lease, task): its type and lane; None when the claim was not made here."""
        leases = self._leases
        return {task_id: leases.get(lease_id, _NONE).get(task_id) for lease_id, task_id in ends}

    def finished_by(self, ends: Iterable[tuple[str, str]]) -> Sequence[str]:
        """The leases that have no task left once these (lease, task) have ended."""
        gone: defaultdict[str, set[str]] = defaultdict(set)
        for lease_id, task_id in ends:
            gone[lease_id].add(task_id)
        return [
            lease_id for lease_id, tasks in gone.items()
            if lease_id in self._leases and self._leases[lease_id].keys() <= tasks
        ]  # fmt: skip

    def ended(self, ends: Iterable[tuple[str, str]]) -> None:
        """These (lease, task) have ended."""
        for lease_id, task_id in ends:
            tasks = self._leases.get(lease_id)
            if tasks is not None:
                tasks.pop(task_id, None)
                self.keys.pop(task_id, None)
                if not tasks:
                    del self._leases[lease_id]
