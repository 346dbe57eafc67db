"""Versions of a type's code: which ones a worker runs, and which tasks it therefore takes. Pure.

A task without a version, 0, was never claimed and is anybody's; from its first claim on it belongs
to the version that claimed it. In the pool such a task's type is "type/version" (Task.pool_type).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from stagepost.records import Demand, WorkerRecord

Versions = Mapping[str, tuple[int, ...]]
"""By type: the versions of its code that a worker runs, its own first; (1,) for what is missing."""

_UNSAID: Final = (1,)
_LAST: Final = 1_000_000
_MOST_ACCEPTED: Final = 32


def checked(name: str, version: int, accepts: Iterable[int]) -> tuple[int, ...]:
    """The versions of a type, its own first. Raises ValueError for what can be none."""
    others = sorted(set(accepts) - {version})
    for each in (version, *others):
        if type(each) is not int or not 1 <= each <= _LAST:
            raise ValueError(
                f'"{each}" is no version of {name}: use whole numbers from 1 to {_LAST}.'
            )
    if len(others) > _MOST_ACCEPTED:
        raise ValueError(f"{name} accepts more than {_MOST_ACCEPTED} versions; drop the oldest.")
    return (version, *others)


def own_versions(demand: Demand) -> list[int]:
    """The version of each of the demand's types with which an unclaimed task begins."""
    return [demand.versions.get(name, _UNSAID)[0] for name in demand.types]


def pool_types(demand: Demand) -> list[str]:
    """Each type in the pool that the demand takes: of unclaimed tasks, and of its versions'."""
    begun = [
        f"{name}/{version}"
        for name in demand.types
        for version in demand.versions.get(name, _UNSAID)
    ]
    return [*demand.types, *begun]


def type_of(pool_type: str) -> str:
    """What a type in the pool is, without the version."""
    return pool_type.partition("/")[0]


def takes(worker: WorkerRecord, lane: str, type_name: str, code_version: int = 0) -> bool:
    """Whether a worker claims such tasks."""
    known = code_version == 0 or code_version in worker.versions.get(type_name, _UNSAID)
    return lane in worker.lanes and type_name in worker.types and known


@dataclass(frozen=True, slots=True)
class Stamped:
    """Queued tasks of one type that were begun with one version of its code; `count` may stop."""

    lane: str
    type: str
    code_version: int
    count: int

    @classmethod
    def of(cls, lane: str, pool_type: str, count: int) -> "Stamped":
        """From a type in the pool."""
        type_name, _, version = pool_type.partition("/")
        return cls(lane, type_name, int(version), count)

    def served_by(self, workers: Iterable[WorkerRecord]) -> bool:
        """Whether one of these workers takes them."""
        return any(takes(worker, self.lane, self.type, self.code_version) for worker in workers)
