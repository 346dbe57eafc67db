"""How long things are kept, and what is left of a task that is not. Pure data."""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from stagepost.task import Status

UNREFERENCED_KEPT: Final = 24 * 3600.0
"""Seconds for which a blob is kept that nothing refers to."""

HASHES_MOST: Final = 1_000
"""Uploads, and as many artifacts, whose hashes a tombstone keeps."""


class Page(NamedTuple):
    """One page of a sweep: go on behind the task `after`, or None at the end of what is old."""

    after: str | None
    changed: int


@dataclass(frozen=True, slots=True)
class Hashes:
    """SHA-256, in hexadecimal, of what an erased task held; `result` is None where it had none."""

    input: str
    result: str | None = None
    uploads: tuple[str, ...] = ()
    artifacts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Erasure:
    """The wish to erase a task, by whoever has looked at it when its last event was `seq`."""

    by: str
    seq: int
    input: str
    result: str | None = None


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What is left of a task. One that was pruned by age has neither `by` nor hashes.

    `tenant` and `user` say whose it was, so that it is as absent for others as it was before;
    `status` is the one in which it was taken, or None where that was not noted yet.
    """

    task_id: str
    tenant: str
    user: str
    at: int
    by: str | None = None
    hashes: Hashes | None = field(default=None)
    status: Status | None = None
