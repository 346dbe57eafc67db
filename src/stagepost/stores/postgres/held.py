"""Which claims this process has made and not ended yet."""

from collections.abc import Iterable, Sequence

Place = tuple[str, str]
"""A task's type and lane."""


class Held:
    """Each lease with its tasks; tells when a lease is over, and by what its ends are counted."""

    def __init__(self) -> None:
        self._leases: dict[str, dict[str, Place]] = {}

    def took(self, lease_id: str, places: dict[str, Place]) -> None:
        """A claim was made."""
        self._leases[lease_id] = places

    def place(self, lease_id: str, task_id: str) -> Place | None:
        """A task's type and lane; None when the claim was not made here."""
        return self._leases.get(lease_id, {}).get(task_id)

    def finished_by(self, ends: Iterable[tuple[str, str]]) -> Sequence[str]:
        """The leases that have no task left once these (lease, task) have ended."""
        left: dict[str, set[str]] = {}
        for lease_id, task_id in ends:
            tasks = self._leases.get(lease_id)
            if tasks is not None and task_id in tasks:
                left.setdefault(lease_id, set(tasks)).discard(task_id)
        return [lease_id for lease_id, tasks in left.items() if not tasks]

    def ended(self, ends: Iterable[tuple[str, str]]) -> None:
        """These (lease, task) have ended."""
        for lease_id, task_id in ends:
            tasks = self._leases.get(lease_id)
            if tasks is not None:
                tasks.pop(task_id, None)
                if not tasks:
                    del self._leases[lease_id]
