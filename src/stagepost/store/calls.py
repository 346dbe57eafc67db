"""PORT. The ledger of calls to models, an attribute of the store: `store.calls`."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from stagepost.calls import Answered, Bodies, Call, CallEnd, CallKey, NewCall, Tally
from stagepost.records import Scope
from stagepost.spending import Spent, StepSpent, UsageQuery, UsageSum
from stagepost.task import Lease


class Calls(Protocol):
    """Every call is in it before it is sent; see `stagepost.calls` for its states.

    A call whose claim does not own its task any more, and which has no end, is UNKNOWN to every
    verb here, and everywhere at once. A page is of at most `PAGE_MOST` rows. What lies outside a
    scope is as absent as what never was.
    """

    async def begin(self, lease: Lease, call: NewCall) -> None:
        """Write an intent; once this returns the call may be sent. Fenced.

        The same intent again changes nothing. Raises CancelAsked once the task was asked to stop,
        Conflict when another call has the id.
        """
        ...

    async def end(self, task_id: str, call_id: str, end: CallEnd) -> None:
        """Write how a call ended; once this returns its answer may be used. Not fenced.

        Taken once: what comes after the first end changes nothing. If the claim that sent the call
        still owns the task, its RESULT is progress, as a checkpoint is. Of a call whose task is
        gone only the hash of the answer is kept. Raises NotFound.
        """
        ...

    async def reject(self, task_id: str, call_id: str, why: str) -> None:
        """A RESULT turns out not to be usable: it is REJECTED, kept, and no replay gets it.

        `why` is for operators. Anything but a RESULT stays as it is. Raises NotFound.
        """
        ...

    async def memo(self, task_id: str, key: CallKey) -> Answered | None:
        """The answer that a replay gets, if there is one; asked last before a call is sent.

        So a late answer is found, too.
        """
        ...

    async def memos(self, task_id: str, after: str | None, limit: int) -> Sequence[Answered]:
        """A page of a task's accepted answers behind the call `after`, for `calls.replays`.

        Those of saved steps, and those that redrives have dropped, are left out.
        """
        ...

    async def tally(self, task_id: str, path: str) -> Tally:
        """How many calls a step has sent since a person has last looked at the task."""
        ...

    async def tries(self, task_id: str, key: CallKey) -> int:
        """How often one call was sent that may have to be paid for, and has no accepted answer.

        Since a person has last looked at the task; what was refused and cost nothing is left out.
        """
        ...

    async def find(
        self, task_id: str, scope: Scope, after: str | None, limit: int
    ) -> Sequence[Call]:
        """A page of a task's calls behind the call `after`, in the order of their ids.

        They stay while their task, or its tombstone, is there.
        """
        ...

    async def bodies(self, task_id: str, call_id: str, scope: Scope) -> Bodies:
        """What a call has sent and got. Raises NotFound."""
        ...

    async def unknown(self, scope: Scope, after: str | None, limit: int) -> Sequence[Call]:
        """A page of the UNKNOWN calls of all tasks, in the order of their ids."""
        ...

    async def unknown_by_type(self) -> Mapping[str, int]:
        """How many calls are UNKNOWN, by the type of their task; no type without any."""
        ...

    async def usage(self, scope: Scope, query: UsageQuery) -> Sequence[UsageSum]:
        """What was spent; the latest day first, and in it what cost most. It outlives the tasks."""
        ...

    async def spent(self, task_id: str, scope: Scope) -> Spent:
        """What a task's calls have cost in all, those before a redrive included."""
        ...

    async def spent_by_step(
        self, task_id: str, scope: Scope, after: str | None, limit: int
    ) -> Sequence[StepSpent]:
        """The same for each step that has called, a page by their paths behind the path `after`."""
        ...

    async def note_unknown(self, limit: int) -> int:
        """Count up to so many calls that are UNKNOWN into the usage, and answer how many.

        Nothing that can be read here changes by it: it makes the reading of usage cheap.
        """
        ...
