"""What every store makes of a submit before it writes it."""

from typing import Final

from stagepost.errors import Conflict, IdempotencyMismatch, TenantFull
from stagepost.quota import MOST, MOST_BUDGETS
from stagepost.records import NewTask, Submitted
from stagepost.task import Status, Task

IDEMPOTENCY_KEPT: Final = 24 * 3600 * 1000
"""Milliseconds for which a key is remembered."""

FIRST_OPTION: Final = NewTask._fields.index("priority")
"""From this field on, a NewTask has options; a plain task has them as they are by default."""

_PLAIN: Final = tuple(NewTask._field_defaults[name] for name in NewTask._fields[FIRST_OPTION:])


def is_plain(new: NewTask) -> bool:
    """Whether a task is to be run at once, and has nothing beside it."""
    return new[FIRST_OPTION:] == _PLAIN


def task_of(new: NewTask, now: int) -> Task:
    """The task that a submit makes."""
    run_at = new.run_at if new.run_at is not None else now + round(new.delay * 1000)
    ttl = round(new.ttl * 1000)
    parent_id, batch_id, place = new.kin or (None, None, None)
    return Task(
        id=new.id,
        tenant=new.tenant,
        user=new.user,
        type=new.type,
        lane=new.lane,
        status=Status.PENDING,
        created_at=now,
        deadline=max(run_at, now) + ttl if new.deadline is None else new.deadline,
        hard_deadline=new.deadline is not None,
        ttl=ttl,
        max_attempts=new.max_attempts,
        priority=new.priority,
        run_at=max(run_at, now),
        upload_bytes=sum(upload.size for upload in new.uploads),
        trace_id=new.trace_id,
        parent_id=parent_id,
        batch_id=batch_id,
        place=place,
        concurrency_key=new.concurrency_key,
    )


def gone(task_id: str, last: Status | None, key_born: int) -> Submitted:
    """The answer to a key whose task is not kept: it is over, as its tombstone says."""
    return Submitted(task_id, last or Status.COMPLETED, key_born, replayed=True)


def key_taken(task_id: str) -> Conflict:
    """The refusal of a redrive while another task holds the unique key."""
    return Conflict(
        f"Task {task_id} has the unique key of this one now; redrive this one when that is over."
    )


def other_content() -> IdempotencyMismatch:
    """The refusal of a key that comes again with something else."""
    return IdempotencyMismatch(
        "This Idempotency-Key was used before with other content; use a new key."
    )


def tenant_full(new: NewTask, limit: int, room: int) -> TenantFull:
    """The refusal of a task for which its tenant, of this limit, has no room but this."""
    if not limit:
        return TenantFull(
            "The tenant may submit no task now: its quota is 0. An admin of the server changes it "
            "with `stagepost quotas TENANT --max-queued N`."
        )
    if new.brings > limit:
        return TenantFull(
            f"The batch has {new.brings} inputs, and its tenant may have {limit} tasks that wait "
            "to start; send it in smaller batches."
        )
    if new.brings:
        return TenantFull(
            f"The batch has {new.brings} inputs, and of the {limit} tasks that may wait to start "
            f"its tenant has room for {max(0, room)}; there is more when some have started, or "
            "send smaller batches."
        )
    return TenantFull(
        f"The tenant has {limit} tasks that wait to start, as many as it may have; there is room "
        "again when some have started."
    )


def too_many_budgets() -> Conflict:
    """The refusal of one more tenant with budgets of its own."""
    return Conflict(
        f"At most {MOST_BUDGETS:,} tenants have budgets of their own; set those of more in "
        "models.toml."
    )


def too_many_quotas() -> Conflict:
    """The refusal of one more tenant with quotas of its own."""
    return Conflict(f"At most {MOST:,} tenants have quotas of their own; unset some first.")
