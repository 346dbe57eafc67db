"""PORT. What workers do."""

from collections.abc import Sequence
from typing import Protocol

from stagepost.outcome import Outcome
from stagepost.records import (
    Artifact,
    Beat,
    Checkpoint,
    Claimed,
    Demand,
    ProgressNote,
    WorkerRecord,
)
from stagepost.task import Lease


class Claiming(Protocol):
    """What a worker does."""

    async def register(self, worker: WorkerRecord) -> None:
        """A worker starts to live; its id is new."""
        ...

    async def beat(self, worker_id: str, state: str) -> Beat:
        """Renew the worker, and with it all its claims."""
        ...

    async def retire(self, worker_id: str) -> None:
        """A worker ends its life; what it still holds is given back without blame."""
        ...

    async def claim(self, demand: Demand, *, wait: float = 0.0) -> Sequence[Claimed]:
        """Take up to `slots` tasks from the pool.

        Waits up to `wait` for the first one. In a lane the order is `pooled_at - priority`; between
        lanes, by weight. A task that was claimed before goes only to a worker with the version of
        the code that claimed it first. A worker that was thought dead gets nothing until it
        registers anew. If the caller is cancelled, what was taken for it goes back to the pool and
        has spent nothing.
        """
        ...

    async def checkpoint(
        self, lease: Lease, checkpoint: Checkpoint, note: ProgressNote | None = None
    ) -> None:
        """Save a step's result, with the progress that goes with it. Fenced.

        A path is saved once in a task's life, unless a redrive drops it: then Conflict.
        """
        ...

    async def progress(self, lease: Lease, note: ProgressNote) -> None:
        """Note how far a task is; percent never falls. Fenced."""
        ...

    async def attach(self, lease: Lease, artifact: Artifact) -> None:
        """Save an artifact; one of the same name is replaced. Fenced."""
        ...

    async def settle(
        self, lease: Lease, outcome: Outcome, note: ProgressNote | None = None
    ) -> None:
        """End a claim. Fenced. A cancel that was asked meanwhile counts, except for a success."""
        ...
