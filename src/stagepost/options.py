"""How a submitted task is to be run, and the record that a store is given of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from uuid_utils import uuid7

from stagepost.caller import Caller
from stagepost.records import Idempotency, NewTask, UploadRecord
from stagepost.task_type import TaskType


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a task is run. Instants are ms since 1970, `delay` is seconds.

    `priority` is seconds of head start over the tenant's other tasks in the lane. Of its tasks with
    one `concurrency_key` one runs at a time, or as many as the tenant's rule says.

    Of a tenant, type and `unique_key` there is one task at a time that is not over: a second submit
    is answered with it. `debounce`, in seconds, needs one, and is in the place of `run_at` and
    `delay`: the task starts so long after the last of such submits, with the input of that.

    `brings` is for a task that is a batch: how many tasks it will start. Its tenant's quota must
    have room for all of them.
    """

    lane: str | None = None
    priority: int = 0
    run_at: int | None = None
    delay: float = 0.0
    deadline: int | None = None
    tags: tuple[str, ...] = ()
    trace_id: str | None = None
    idempotency: Idempotency | None = None
    concurrency_key: str | None = None
    unique_key: str | None = None
    debounce: float = 0.0
    brings: int = 0

    def check_debounce(self) -> None:
        """Raise ValueError where others contradict it."""
        if self.debounce < 0 or self.unique_key is None:
            raise ValueError("debounce is a number of seconds, and needs a unique_key.")
        if self.run_at is not None or self.delay:
            raise ValueError("debounce says when the task starts; leave out run_at and delay.")


def new_task(
    task_type: TaskType,
    lane: str,
    text: str,
    caller: Caller,
    options: Options,
    uploads: Sequence[UploadRecord],
) -> NewTask:
    """A submit; `text` is its input, validated, as JSON."""
    task_id = str(uuid7())
    return NewTask(
        task_id,
        caller.tenant,
        caller.user,
        task_type.name,
        lane,
        text,
        task_type.retry.attempts,
        task_type.ttl,
        # A UUID is 32 hexadecimal digits, as a W3C trace id is.
        options.trace_id or task_id.replace("-", ""),
        options.priority,
        options.run_at,
        options.debounce or options.delay,
        options.deadline,
        options.tags,
        tuple(uploads),
        options.idempotency,
        options.concurrency_key,
        None,
        options.unique_key,
        options.debounce > 0,
        options.brings,
    )
