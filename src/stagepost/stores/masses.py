"""Between rows and changes of many tasks."""

from dataclasses import asdict
from typing import Any, Final

import orjson

from stagepost.errors import Conflict, NotFound
from stagepost.mass import Kind, MassChange, Progress, State
from stagepost.records import Filter, Resume, Scope, UploadRecord
from stagepost.stores.rows import json
from stagepost.task import Status

OPEN_MOST: Final = 50
"""Changes of one tenant that may be under way at once."""

_SPEC: Final = ("by", "where", "task_ids", "reason", "resume", "attempts", "per_minute", "canary")
PROGRESS: Final = (
    "state", "matched", "sent", "completed", "failed", "why", "cursor", "next_at", "recent",
    "created_at", "ended_at", "open",
)  # fmt: skip
"""Each field of a Progress is a column of the same name."""


def spec_text(change: MassChange) -> str:
    """What of a change stands in its row as JSON."""
    return json({name: _plain(getattr(change, name)) for name in _SPEC})


def _plain(value: Any) -> Any:
    if isinstance(value, Resume):
        return {**asdict(value), "uploads": [list(upload) for upload in value.uploads]}
    return value


def change_of(row: Any) -> MassChange:
    """A MassChange from (id, kind, tenant, user, spec)."""
    change_id, kind, tenant, user, text = row
    spec = orjson.loads(text)
    where, resume = spec.pop("where"), spec.pop("resume")
    where["statuses"] = tuple(map(Status, where["statuses"]))
    resume["uploads"] = tuple(UploadRecord(*upload) for upload in resume["uploads"])
    return MassChange(
        id=str(change_id),
        kind=Kind(kind),
        scope=Scope(tenant, user),
        where=Filter(**where),
        resume=Resume(**resume),
        task_ids=tuple(spec.pop("task_ids")),
        **spec,
    )


def progress_of(row: Any) -> Progress:
    """A Progress from the values of PROGRESS."""
    values = dict(zip(PROGRESS, row, strict=True))
    values["state"] = State(values["state"])
    values["recent"] = tuple(orjson.loads(values["recent"]))
    values["open"] = bool(values["open"])
    return Progress(**values)


def row_of(progress: Progress) -> list[Any]:
    """The values of PROGRESS."""
    values = {name: getattr(progress, name) for name in PROGRESS}
    return list(
        (values | {"state": progress.state.value, "recent": json(progress.recent)}).values()
    )


def in_scope(scope: Scope, change: MassChange) -> bool:
    """Whether a caller may see a change: whoever sees all of the tenant, or its own user."""
    return scope.tenant in {None, change.scope.tenant} and scope.user in {None, change.scope.user}


def too_many() -> Conflict:
    """The refusal of one more."""
    return Conflict(
        f"{OPEN_MOST} redrives, cancels or discards of many tasks are under way; wait for some to "
        "end, or stop them."
    )


def unknown(change_id: str, kind: Kind = Kind.REDRIVE) -> NotFound:
    """The refusal for what is not there."""
    return NotFound(f"There is no {kind} {change_id}.")
