"""Children that one call of a handler started, as a store keeps them. Pure data.

A *batch* is what `child`, `spawn` or `batch` starts at one step path: one child or many, all of one
type. It is made in pages and *sealed* with the last one. A child is *settled* while it is
COMPLETED, CANCELLED or in DEAD_LETTER, and *failed* in the latter two.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from stagepost.records import Kin, NewTask, UploadRecord
from stagepost.task import SETTLED, CancelRequest, Payload, Status, Task

MOST_BATCHES: Final = 1_000
"""Batches of one task that are read at once."""

PAGE: Final = 1_000
"""Children that are made, cancelled or redriven in one transaction."""

PAGE_BYTES: Final = 1024 * 1024
"""Bytes of JSON in the inputs of children that are made in one transaction, if they are several."""


@dataclass(frozen=True, slots=True)
class NewBatch:
    """What all children of a batch share. `ttl` is in seconds, `attempts` their tries in all.

    `detached` children outlive a cancel of their parent. While the parent waits, its progress goes
    from `low` to `high` with the share that is settled; None: it stays as it is.
    """

    id: str
    path: str
    name: str
    type: str
    lane: str
    attempts: int
    ttl: float
    detached: bool = False
    low: int | None = None
    high: int | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """The next children of a batch: an id and an input each, from place `first` on.

    `before` and `after` are digests of all inputs up to here and with this page; a batch whose
    inputs differ from those it was begun with is so found out. `uploads` are those that the inputs
    of some children name, by the child's id.
    """

    batch: NewBatch
    first: int
    children: Sequence[tuple[str, str]]
    before: str
    after: str
    last: bool
    uploads: Mapping[str, tuple[UploadRecord, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch as it stands: `made` children, of which `left` have not settled; `failed` failed."""

    id: str
    parent_id: str
    path: str
    type: str
    made: int
    sealed: bool
    left: int
    failed: int
    digest: str
    low: int | None = None
    high: int | None = None
    message: str = ""

    def is_over(self, *, stop: bool) -> bool:
        """Whether its parent has nothing to wait for: all settled, or with `stop` one failed."""
        return (self.sealed and self.left <= 0) or (stop and self.failed > 0)

    @property
    def told(self) -> str:
        """The message that goes with the progress."""
        done = self.made - self.left
        return self.message.replace("{n}", str(done)).replace("{total}", str(self.made))

    @property
    def percent(self) -> int | None:
        """How far the parent is by the share that is settled; None if that says nothing."""
        if self.low is None or self.high is None or not self.sealed or not self.made:
            return None
        return self.low + (self.high - self.low) * (self.made - self.left) // self.made


class ChildRecord(NamedTuple):
    """A child as its parent sees it; `result` only when it is COMPLETED."""

    place: int
    task_id: str
    status: Status
    result: Payload | None
    failure_kind: str | None
    error_message: str | None


class Delta(NamedTuple):
    """How a change of one child's status changes its batch."""

    left: int
    failed: int


def delta_of(before: Status, after: Status) -> Delta | None:
    """What a child's change means for its batch; None when it means nothing."""
    if (before in SETTLED) == (after in SETTLED):
        return None
    status, sign = (after, 1) if after in SETTLED else (before, -1)
    return Delta(-sign, 0 if status is Status.COMPLETED else sign)


def children_of(parent: Task, batch_id: str, page: Page) -> list[NewTask]:
    """The submits of a page: tenant, user, trace and an explicit deadline are the parent's."""
    batch = page.batch
    return [
        NewTask(
            task_id,
            parent.tenant,
            parent.user,
            batch.type,
            batch.lane,
            text,
            batch.attempts,
            batch.ttl,
            parent.trace_id,
            deadline=parent.deadline if parent.hard_deadline else None,
            uploads=page.uploads.get(task_id, ()),
            kin=Kin(parent.id, batch_id, place),
        )
        for place, (task_id, text) in enumerate(page.children, page.first)
    ]


BEGUN_ANEW: Final = "Its parent began anew."
"""Why the children of a batch are cancelled that a redriven parent does not know any more."""


def begun_anew(by: str) -> CancelRequest:
    """The cancel of the children that a redrive has dropped."""
    return CancelRequest(by, BEGUN_ANEW)
