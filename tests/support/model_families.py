"""Parents and children of the model: what `Children` lets one see, as plainly as can be."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from stagepost.batch import Batch, Page, begun_anew, children_of, delta_of
from stagepost.records import NewTask
from stagepost.task import CancelRequest, Status, Task

Cut = tuple[int, str]


@dataclass
class Family:
    """A batch, and what only the store knows of it."""

    batch: Batch
    steps: int
    attempts: int
    detached: bool
    children: list[str] = field(default_factory=list)
    dropped: bool = False

    @property
    def place(self) -> Cut:
        """Behind how many steps of its parent it was begun, and its id."""
        return (self.steps, self.batch.id)


class Families:
    """All batches."""

    def __init__(self) -> None:
        self.all: dict[str, Family] = {}
        self.stirred = False
        """Whether something has happened about which a store may do something later."""
        self._told: list[str] = []
        self._cancelling: list[tuple[str, CancelRequest]] = []

    def of(self, parent_id: str) -> list[Batch]:
        """The batches that a task knows, in the order of their making."""
        return [each.batch for each in self._known(parent_id)]

    def live(self, parent_id: str, path: str) -> Family | None:
        """The one at a path."""
        return next((each for each in self._known(parent_id) if each.batch.path == path), None)

    def begin(self, parent: Task, page: Page) -> Family:
        """A new batch."""
        new = page.batch
        batch = Batch(new.id, parent.id, new.path, new.type, 0, False, 0, 0, page.before)
        family = Family(batch, parent.saved_steps, new.attempts, new.detached)
        self.all[new.id] = family
        return family

    def grow(self, family: Family, parent: Task, page: Page) -> list[NewTask]:
        """The next children."""
        many, batch = len(page.children), family.batch
        family.batch = replace(
            batch, made=batch.made + many, left=batch.left + many, digest=page.after,
            sealed=page.last,
        )  # fmt: skip
        news = children_of(parent, batch.id, page)
        family.children += [new.id for new in news]
        return news

    def changed(self, before: Task, task: Task) -> None:
        """A task has changed."""
        if task.cancel is not None and before.cancel is None:
            self.cancel_children(task.id, task.cancel)
        delta = delta_of(before.status, task.status)
        if task.batch_id is None or delta is None or task.batch_id not in self.all:
            return
        family = self.all[task.batch_id]
        batch = family.batch
        family.batch = replace(
            batch, left=batch.left + delta.left, failed=batch.failed + delta.failed
        )
        self._told.append(task.batch_id)
        self.stirred = True

    @property
    def untold(self) -> bool:
        """Whether parents have something to hear."""
        return bool(self._told)

    def told(self) -> list[Batch]:
        """The batches whose parents have something to hear."""
        told, self._told = dict.fromkeys(self._told), []
        known = [self.all[each] for each in told if each in self.all]
        return [family.batch for family in known if not family.dropped]

    def open_below(self, parent_id: str) -> bool:
        """Whether children of a task go on, also such as it does not know any more."""
        return any(
            family.batch.left > 0
            for family in self.all.values()
            if family.batch.parent_id == parent_id
        )

    def forget(self, parent_id: str) -> None:
        """A task is gone, and its batches with it; children stay as they are."""
        self.all = {
            batch_id: family
            for batch_id, family in self.all.items()
            if family.batch.parent_id != parent_id
        }

    def cancel_children(self, parent_id: str, request: CancelRequest) -> None:
        """They are cancelled with their parent."""
        for family in self.all.values():
            if family.batch.parent_id == parent_id and not family.detached:
                self._cancel(family, request)

    def _cancel(self, family: Family, request: CancelRequest) -> None:
        self._cancelling += [(child, request) for child in family.children]
        self.stirred = True

    def next_to_cancel(self) -> tuple[str, CancelRequest] | None:
        """A child, and who asked."""
        return self._cancelling.pop(0) if self._cancelling else None

    def places(self, parent_id: str, name: str) -> Iterable[Cut]:
        """Where batches of this name or path stand."""
        return [each.place for each in self._known(parent_id) if each.batch.path == name]

    def dead_below(
        self, parent_id: str, cut: Cut, tasks: Mapping[str, Task]
    ) -> list[tuple[str, int]]:
        """The dead children that are kept, and theirs, each with its new tries."""
        found: list[tuple[str, int]] = []
        for family in self._known(parent_id):
            if family.place >= cut:
                continue
            for child in family.children:
                if tasks[child].status is Status.DEAD_LETTER:
                    found += [
                        *self.dead_below(child, (2**31, ""), tasks),
                        (child, family.attempts),
                    ]
        return found

    def drop(self, parent_id: str, cut: Cut, by: str) -> None:
        """A redriven parent knows these no more."""
        for family in self._known(parent_id):
            if family.place >= cut:
                family.dropped = True
                self._cancel(family, begun_anew(by))

    def _known(self, parent_id: str) -> list[Family]:
        known = [
            each
            for each in self.all.values()
            if each.batch.parent_id == parent_id and not each.dropped
        ]
        return sorted(known, key=lambda each: each.place)
