"""All of one task, for people."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from stagepost.backlog import COUNTED
from stagepost.cli.output import (
    ago,
    cleaned,
    duration,
    json_text,
    money,
    plain,
    seconds_between,
    size,
    status_text,
    table,
)
from stagepost.cli.spent import calls_table, spent_text
from stagepost.cli.waits import ended_by, moment, waiting_text

if TYPE_CHECKING:
    from stagepost.web.call_schemas import CallItem
    from stagepost.web.schemas import ArtifactItem, FailedAttempt, Step, WholeTask

_ITEM: Final = re.compile(r"\[[^\]]*\]")
_MOST_ITEMS: Final = 5  # steps of one map that are listed one by one
_ENDLESS: Final = frozenset({"signal", "worker", "paused", "limit", "child", "budget"})
"""Waits of which nobody can say when they end."""
_MOST_SHOWN: Final = 2_000  # characters of an input or a result


def report(
    task: "WholeTask",
    steps: Sequence["Step"],
    artifacts: Sequence["ArtifactItem"],
    calls: Sequence["CallItem"] = (),
    end: Mapping[str, Any] | None = None,
    listed: str = "",
) -> Iterator[RenderableType]:
    """The parts of the report, in their order; `end` is the data of the event `cancelled`.

    `listed` is the command that lists the tasks that it has started; empty when there are none.
    """
    yield _facts(task, end, listed)
    if task["result"] is not None:
        yield from _section("result", plain(_shortened(task["result"])))
    if steps:
        yield from _section("steps", _steps(steps))
    if calls:
        yield from _section("calls to models", calls_table(calls))
    if task["failures"]:
        yield from _section("failures", *map(_failure, task["failures"]))
    if artifacts:
        yield from _section("artifacts", _artifacts(artifacts))


def _section(title: str, *parts: RenderableType) -> Iterator[RenderableType]:
    yield Text()
    yield plain(title, "bold")
    yield from parts


def _facts(task: "WholeTask", end: Mapping[str, Any] | None, listed: str) -> Table:
    facts: list[tuple[str, object]] = [
        ("task", task["taskId"]),
        ("type", task["type"]),
        ("status", status_text(task["status"])),
        ("progress", _progress(task)),
        ("lane", task["lane"]),
        ("attempt", f"{task['attempt']} of {task['maxAttempts']}"),
        ("owner", f"{task['tenant']} / {task['user']}"),
        ("tags", ", ".join(task["tags"])),
        ("waiting", waiting_text(task["waitingFor"])),
        ("its tasks", listed),
        ("parent", task["parentId"]),
        ("queue position", _position(task["queuePosition"])),
        ("estimate", _estimate(task)),
        ("created", _moment(task["createdAt"])),
        ("started", _moment(task["startedAt"])),
        ("ended", _moment(task["completedAt"])),
        ("took", _took(task)),
        ("cost", spent_text(task["spent"])),
        ("next attempt", moment(task["nextAttemptAt"])),
        ("deadline", task["deadline"] if not task["final"] else None),
        ("cancel", "asked for" if task["cancelRequested"] and not task["final"] else None),
        ("cancelled", ended_by(end).removeprefix("cancelled ") if end else None),
        ("failure", _why(task)),
        ("trace", task["traceId"]),
        ("input", _shortened(task["input"])),
    ]
    told = [(name, value) for name, value in facts if value is not None and value != ""]
    return table(("", ""), told, head=False)


def _progress(task: "WholeTask") -> str:
    # What was said last is of no use beside how it ended.
    step = "" if task["final"] else cleaned(task["currentStep"])
    return f"{task['progress']}%  {step}".rstrip()


def _position(place: int | None) -> str:
    if place is None:
        return ""
    return str(place) if place <= COUNTED else f"about {place}"


def _estimate(task: "WholeTask") -> str:
    seconds, wait = task["estimatedSeconds"], task["waitingFor"]
    if seconds is None:
        return ""
    if wait is not None and wait["kind"] in _ENDLESS:
        return f"about {duration(round(seconds))} of work after that" if seconds > 0 else ""
    return f"done in about {duration(round(seconds))}" if seconds > 0 else "done in a moment"


def _took(task: "WholeTask") -> str:
    # A dead letter waited for a person; that time is none that it took.
    if task["status"] != "COMPLETED" or task["failures"]:
        return ""
    return duration(seconds_between(task["startedAt"], task["completedAt"]))


def _why(task: "WholeTask") -> str:
    kind = task["failureKind"]
    return f"{kind}: {cleaned(task['errorMessage'])}" if kind else ""


def _moment(instant: str | None) -> str:
    return f"{instant}  ({ago(instant)})" if instant else ""


def _steps(steps: Sequence["Step"]) -> Table:
    rows = [_step(name, group) for name, group in _grouped(steps)]
    return table(("STEP", "TOOK", "SIZE", "ATTEMPT", "COST", "SAVED"), rows)


def _grouped(steps: Sequence["Step"]) -> Iterator[tuple[str, Sequence["Step"]]]:
    """Steps, and where a map has many, those of its items as one."""
    groups: dict[str, list[Step]] = {}
    for step in steps:
        groups.setdefault(_ITEM.sub("[*]", step["path"]), []).append(step)
    for name, group in groups.items():
        if len(group) > _MOST_ITEMS:
            yield f"{name} ({len(group)} of them)", group
        else:
            yield from ((each["path"], [each]) for each in group)


def _step(name: str, group: Sequence["Step"]) -> Sequence[object]:
    started, saved = (
        min(each["startedAt"] for each in group),
        max(each["completedAt"] for each in group),
    )
    return (
        name,
        duration(seconds_between(started, saved)),
        size(sum(each["bytes"] for each in group)),
        max(each["attempt"] for each in group),
        money(cost) if (cost := sum(each["cost"] for each in group)) else "",
        saved,
    )


def _failure(failure: "FailedAttempt") -> Text:
    head = f"attempt {failure['attempt']}  {failure['timestamp']}  {failure['failureKind']}"
    text = plain(f"{head}: {cleaned(failure['message'])}")
    if trace := failure.get("trace"):
        text.append_text(plain(f"\n{trace.rstrip()}", "dim"))
    return text


def _artifacts(artifacts: Sequence["ArtifactItem"]) -> Table:
    rows = [(each["name"], each["mediaType"], size(each["bytes"])) for each in artifacts]
    return table(("NAME", "TYPE", "SIZE"), rows)


def _shortened(value: Any) -> str:
    text = json_text(value)
    if len(text) <= _MOST_SHOWN:
        return text
    whole_lines = text[:_MOST_SHOWN].rpartition("\n")[0] or text[:_MOST_SHOWN]
    return f"{whole_lines}\n... ({len(text)} characters in all; --json or --save DIR gives them)"
