"""What goes over the wire, made from the domain's objects: the one place.

schemas.py has the shapes as types.
"""

from collections.abc import Sequence
from typing import Any, Final

import orjson

from stagepost.batch import ChildRecord
from stagepost.blobs import OFFLOAD_OVER
from stagepost.event import Event, rfc3339, wait_data
from stagepost.failure import REACTIONS, FailureKind, Redrive
from stagepost.records import (
    Artifact,
    FailureRecord,
    SavedStep,
    Submitted,
    TaskView,
    UploadRecord,
)
from stagepost.spending import Spent
from stagepost.task import SETTLED, Payload, Status, Task, Wait
from stagepost.web.call_shapes import dollars, spending
from stagepost.web.outlook import Foresight
from stagepost.web.schemas import (
    Accepted,
    ArtifactItem,
    Child,
    DeadLetter,
    FailedAttempt,
    Owned,
    Step,
    TaskEvent,
    TaskItem,
    TaskStatus,
    Uploaded,
    WaitingFor,
    WholeTask,
)

API: Final = "/api/v1"


def task_url(task_id: str, part: str = "") -> str:
    """The path of a task or of a part of it."""
    return f"{API}/tasks/{task_id}{part}"


def accepted(submitted: Submitted, type_name: str, lane_name: str, seconds: int) -> bytes:
    """The answer to a submit as JSON; `seconds` is when it may be done."""
    body: Accepted = {
        "taskId": submitted.task_id,
        "type": type_name,
        "status": submitted.status.value,
        "lane": lane_name,
        "estimatedSeconds": None if submitted.status in SETTLED else seconds,
        "pollUrl": task_url(submitted.task_id, "/status"),
        "sseUrl": task_url(submitted.task_id, "/progress"),
        "createdAt": rfc3339(submitted.created_at),
    }
    return orjson.dumps(body)


def task_status(view: TaskView, ahead: Foresight) -> TaskStatus:
    """A task's status."""
    task = view.task
    body = _status_of(task, ahead)
    body["queuePosition"] = ahead.position
    if task.status is Status.COMPLETED:
        body.update(_result_part(task.id, view.result))  # type: ignore[typeddict-item]
    return body


def _status_of(task: Task, ahead: Foresight) -> TaskStatus:
    failed = task.status in {Status.FAILED, Status.DEAD_LETTER}
    return {
        "taskId": task.id,
        "status": task.status.value,
        "final": task.status in SETTLED,
        "progress": task.progress,
        "currentStep": task.step,
        "result": None,
        "errorMessage": task.error_message if failed else None,
        "failureKind": task.failure_kind if failed else None,
        "attempt": task.attempt,
        "maxAttempts": task.max_attempts,
        "nextAttemptAt": _instant(task.due_at) if task.status is Status.FAILED else None,
        "waitingFor": _waiting_for(ahead.waiting_for),
        "queuePosition": None,
        "estimatedSeconds": ahead.seconds,
        "createdAt": rfc3339(task.created_at),
        "startedAt": _instant(task.started_at),
        "completedAt": _instant(task.ended_at),
    }


def _waiting_for(wait: Wait | None) -> WaitingFor | None:
    return None if wait is None else wait_data(wait)  # type: ignore[return-value]


def is_large(result: Payload) -> bool:
    """Whether a result is told of by its address only."""
    return result.blob is not None or result.size > OFFLOAD_OVER


def _result_part(task_id: str, result: Payload | None) -> dict[str, Any]:
    if result is None:
        return {"result": None}
    if is_large(result):
        url = task_url(task_id, "/result")
        return {"result": None, "resultUrl": url, "resultBytes": result.size}
    return {"result": orjson.Fragment(result.text or "null")}


def task_item(task: Task, ahead: Foresight) -> TaskItem:
    """A task in a list."""
    body: TaskItem = {**_status_of(task, ahead), **_owner(task)}
    if task.status is Status.COMPLETED:
        body["resultUrl"] = task_url(task.id, "/result")
    return body


def _owner(task: Task) -> Owned:
    return {"type": task.type, "lane": task.lane, "tenant": task.tenant, "user": task.user}


def dead_letter(task: Task) -> DeadLetter:
    """A dead letter in a list."""
    return {
        **task_item(task, Foresight()),
        "failedAt": rfc3339(task.ended_at or task.created_at),
        "redriveEligible": _eligible(task.failure_kind),
    }


def _eligible(failure_kind: str | None) -> bool:
    try:
        return REACTIONS[FailureKind(failure_kind or "")].redrive is Redrive.YES
    except ValueError:
        return False


def whole_task(
    view: TaskView,
    status: TaskStatus,
    failures: Sequence[FailureRecord],
    spent: Spent,
    *,
    traces: bool,
) -> WholeTask:
    """All of a task; stack traces only where `traces` says so."""
    task = view.task
    return {
        **status,
        **_owner(task),
        "priority": task.priority,
        "runAt": rfc3339(task.run_at),
        "deadline": rfc3339(task.deadline),
        "tags": list(view.tags),
        "parentId": task.parent_id,
        "traceId": task.trace_id,
        "codeVersion": task.code_version or None,
        "seq": task.seq,
        "cancelRequested": task.cancel is not None,
        "cost": dollars(spent.cost),
        "spent": spending(spent),
        "input": orjson.Fragment(view.input),
        "failures": [_failed_attempt(failure, traces=traces) for failure in failures],
    }


def _failed_attempt(failure: FailureRecord, *, traces: bool) -> FailedAttempt:
    body: FailedAttempt = {
        "attempt": failure.attempt,
        "failureKind": failure.kind,
        "message": failure.message,
        "timestamp": rfc3339(failure.at),
    }
    if traces:
        body["trace"] = failure.trace
    return body


def event_data(task_id: str, event: Event, result: Payload | None) -> dict[str, Any]:
    """An event's data; `completed` is joined with the result, which is kept once."""
    data = dict(event.data)
    if event.kind == "completed":
        data.update(_result_part(task_id, result))
    return data


def task_event(task_id: str, event: Event, result: Payload | None) -> TaskEvent:
    """One fact in a task's history."""
    return {
        "seq": event.seq,
        "event": event.kind,
        "data": event_data(task_id, event, result),
        "timestamp": rfc3339(event.at),
    }


def step(saved: SavedStep, cost: int) -> Step:
    """A saved step, and what its calls have cost in micro-dollars."""
    return {
        "path": saved.path,
        "name": saved.name,
        "state": "saved",
        "attempt": saved.attempt,
        "fence": saved.fence,
        "startedAt": rfc3339(saved.started_at),
        "completedAt": rfc3339(saved.completed_at),
        "bytes": saved.value.size,
        "cost": dollars(cost),
    }


def artifact(task_id: str, saved: Artifact, url: str) -> ArtifactItem:
    """A file that a task saved."""
    return {
        "name": saved.name,
        "mediaType": saved.media_type,
        "bytes": saved.size,
        "sha256": saved.sha256,
        "createdAt": rfc3339(saved.created_at),
        "url": task_url(task_id, f"/artifacts/{url}"),
    }


def child(record: ChildRecord) -> Child:
    """A task of a batch."""
    failed = record.status in {Status.FAILED, Status.DEAD_LETTER}
    body: dict[str, Any] = {
        "index": record.place,
        "taskId": record.task_id,
        "status": record.status.value,
        "failureKind": record.failure_kind if failed else None,
        "errorMessage": record.error_message if failed else None,
        **_result_part(record.task_id, record.result),
    }
    return body  # type: ignore[return-value]


def uploaded(record: UploadRecord) -> Uploaded:
    """A file that was kept."""
    return {
        "uploadId": record.upload_id,
        "name": record.name,
        "bytes": record.size,
        "sha256": record.sha256,
    }


def _instant(instant: int | None) -> str | None:
    return None if instant is None else rfc3339(instant)


def page(items: Sequence[Any], after: str | None) -> dict[str, Any]:
    """A list: its items, and what to send as `after` for the next page, or null."""
    return {"items": items, "next": after}
