"""The wire forms of what serves the tasks: lanes, workers, keys, and sums of dead letters."""

from collections.abc import Sequence
from typing import Literal

from stagepost.estimates import History, of_cost, on_average
from stagepost.event import rfc3339
from stagepost.limit import MOST_UNITS, Limit
from stagepost.limiter import LimitState
from stagepost.llm.purses import Purse
from stagepost.mass import Progress
from stagepost.records import ApiKey, DeadGroup, LaneRecord, WorkerRecord
from stagepost.rules import Rule
from stagepost.task import Task
from stagepost.web.call_shapes import dollars
from stagepost.web.dead_letter_schemas import DryRun, Group, Redrive
from stagepost.web.fleet_schemas import BudgetLimit, Lane, ModelLimit, SharedLimit, Worker
from stagepost.web.key_schemas import Key, KeyFacts, NewKey


def lane(record: LaneRecord, now: int, slots: int, rule: Rule) -> Lane:
    """One lane; `slots` is how many tasks one worker of it runs at once.

    `etaSeconds` goes by the last minute and is null while the lane does not get emptier;
    `desiredWorkers` is how many workers would run all that is queued or running at once.
    """
    oldest = record.oldest_pooled_at
    return {
        "name": record.name,
        "paused": rule.paused,
        "concurrency": rule.concurrency,
        "weight": rule.weight or 1,
        "queued": record.queued,
        # Nothing lies between a submit and the pool.
        "pool": record.queued,
        "running": record.running,
        "oldestQueuedSeconds": None if oldest is None else max(0, now - oldest) // 1000,
        "lag": 0,
        "arrivalsPerMinute": record.arrivals,
        "completionsPerMinute": record.completions,
        "etaSeconds": _eta(record),
        "desiredWorkers": -(-(record.queued + record.running) // max(1, slots)),
    }


def _eta(record: LaneRecord) -> int | None:
    if record.queued == 0:
        return 0
    gain = record.completions - record.arrivals
    return record.queued * 60 // gain if gain > 0 else None


def worker(record: WorkerRecord) -> Worker:
    """One worker."""
    return {
        "id": record.id,
        "lanes": list(record.lanes),
        "slots": record.slots,
        "running": record.running,
        "version": record.version,
        "startedAt": rfc3339(record.started_at),
        "lastBeat": rfc3339(record.beat_at),
        "state": record.state,
    }


def shared_limit(
    limit: Limit, source: Literal["settings", "api"], state: LimitState
) -> SharedLimit:
    """A limit, and how much of it is used."""
    return {
        "name": limit.name,
        "units": limit.units,
        "windowSeconds": None if limit.units is None else limit.window,
        "burst": limit.burst,
        "atOnce": limit.at_once,
        "source": source,
        "used": state.used,
        "held": state.held,
        "waiting": state.waiting,
    }


def model_limit(limit: Limit, model: str, state: LimitState) -> ModelLimit:
    """What a provider lends of a model, and how much of it is used."""
    return {
        "name": limit.name,
        "model": model,
        "units": _known(limit.units),
        "windowSeconds": limit.window,
        "atOnce": limit.at_once,
        "source": "models",
        "used": state.used,
        "held": state.held,
        "waiting": state.waiting,
        "most": _known(state.most),
        "pace": round(state.pace, 3),
        "pausedSeconds": round(state.paused, 3),
    }


def budget_limit(purse: Purse, state: LimitState) -> BudgetLimit:
    """A budget, and how much of it is spent."""
    return {
        "name": purse.limit.name,
        "payer": purse.payer,  # type: ignore[typeddict-item]  # a task's is not listed
        "of": purse.name,
        "dollars": (purse.limit.units or 0) / 1e6,
        "period": str(purse.limit.calendar),  # type: ignore[typeddict-item]
        "source": "budgets",
        "spent": state.used / 1e6,
        "waiting": state.waiting,
    }


def _known(units: int | None) -> int | None:
    # What nobody has named is bounded by a number that means "any".
    return None if units == MOST_UNITS else units


def key(record: ApiKey) -> Key:
    """An API key without its text."""
    return {**_key_facts(record), "tenant": record.tenant}


def new_key(record: ApiKey, text: str) -> NewKey:
    """An API key with its text."""
    return {**_key_facts(record), "key": text}


def _key_facts(record: ApiKey) -> KeyFacts:
    return {
        "keyId": record.id,
        "name": record.name,
        "roles": list(record.roles),
        "user": record.user,
        "createdAt": rfc3339(record.created_at),
    }


def groups(found: Sequence[DeadGroup], by: Sequence[str], history: History) -> list[Group]:
    """Dead letters summed up by some of `failureKind` and `type`, largest first.

    By the history: what they will cost that are sent back and run from the beginning.
    """
    sums: dict[tuple[str | None, str | None], tuple[int, int]] = {}
    costs: dict[tuple[str | None, str | None], float] = {}
    for group in found:
        place = (
            group.failure_kind if "failureKind" in by else None,
            group.type if "type" in by else None,
        )
        count, oldest = sums.get(place, (0, group.oldest))
        sums[place] = (count + group.count, min(oldest, group.oldest))
        each = on_average(history.get(of_cost(group.type), {}))
        if each is not None:
            costs[place] = costs.get(place, 0.0) + each * group.count
    ordered = sorted(sums.items(), key=lambda entry: (-entry[1][0], str(entry[0])))
    return [
        {
            "failureKind": failure_kind,
            "type": type_name,
            "count": count,
            "oldest": rfc3339(oldest),
            "estimatedCost": dollars(round(costs[place])) if place in costs else None,
        }
        for place, (count, oldest) in ordered
        for failure_kind, type_name in [place]
    ]


def dry_run_of(found: Sequence[DeadGroup], history: History) -> DryRun:
    """What a redrive of all that these groups count would do."""
    matched = sum(group.count for group in found)
    return {"matched": matched, "groups": groups(found, ("failureKind", "type"), history)}


def redrive(redrive_id: str, progress: Progress) -> Redrive:
    """How far a redrive is."""
    return {
        "redriveId": redrive_id,
        "state": progress.state.value,
        "matched": progress.matched,
        "sent": progress.sent,
        "completed": progress.completed,
        "failed": progress.failed,
        "reason": progress.why,
    }


def dry_run(tasks: Sequence[Task], history: History) -> DryRun:
    """What a redrive of these dead letters would do."""
    found = [
        DeadGroup(task.failure_kind or "", task.type, 1, task.ended_at or task.created_at)
        for task in tasks
    ]
    return dry_run_of(found, history)
