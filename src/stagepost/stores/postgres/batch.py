"""What has become of a batch of submits so far."""

from dataclasses import dataclass, field

from stagepost.records import NewTask, Submitted

Answer = Submitted | Exception


@dataclass(slots=True)
class Batch:
    """Those that are left, in their order, and the answers to the others by the ids they have.

    No two of a batch have the same Idempotency-Key or unique key: see `seconds`.
    """

    now: int
    left: list[NewTask]
    answers: dict[str, Answer] = field(default_factory=dict)

    def answer(self, found: dict[str, Answer]) -> None:
        """Some are answered, and go no further."""
        self.answers |= found
        self.left = [new for new in self.left if new.id not in found]
