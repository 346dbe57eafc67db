"""A task's calls to models and what they cost, for people."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from rich.table import Table

from stagepost.cli.output import duration, money, table

if TYPE_CHECKING:
    from stagepost.web.call_schemas import CallItem, Spending

_ITEM: Final = re.compile(r"\[[^\]]*\]")
_UNKNOWN: Final = "UNKNOWN"


def spent_text(spent: "Spending") -> str:
    """A sum over calls in words; empty where there was none."""
    if not spent["calls"]:
        return ""
    text = f"{money(spent['cost'])} for {_calls(spent['calls'])}"
    failed = spent["rejected"] + spent["refused"]
    parts = [f"{failed} failed"] if failed else []
    if spent["unknown"]:
        parts.append(f"{spent['unknown']} unknown, counted as {money(spent['unknownCost'])}")
    return f"{text} ({'; '.join(parts)})" if parts else text


def calls_table(calls: Iterable["CallItem"]) -> Table:
    """Calls by step, model and how they ended; of those that are unknown each one, with its id."""
    heads = ("STEP", "MODEL", "STATE", "CALLS", "TOKENS IN", "OUT", "TOOK", "COST", "")
    return table(heads, map(_row, _grouped(calls)))


def _grouped(calls: Iterable["CallItem"]) -> Iterator[Sequence["CallItem"]]:
    groups: dict[tuple[str, ...], list[CallItem]] = {}
    for call in calls:
        key = (_ITEM.sub("[*]", call["step"]), f"{call['provider']}/{call['model']}", call["state"])
        kind = call["callId"] if call["state"] == _UNKNOWN else (call["failureKind"] or "")
        groups.setdefault((*key, kind), []).append(call)
    yield from groups.values()


def _row(group: Sequence["CallItem"]) -> Sequence[object]:
    first = group[0]
    step = first["step"] if len(group) == 1 else _ITEM.sub("[*]", first["step"])
    took = [call["tookSeconds"] for call in group if call["tookSeconds"] is not None]
    return (
        step or "(the handler)",
        f"{first['provider']}/{first['model']}",
        first["state"],
        len(group),
        f"{sum(call['usage']['input'] or 0 for call in group):,}",
        f"{sum(call['usage']['output'] or 0 for call in group):,}",
        duration(sum(took)) if took else "",
        money(sum(call["cost"] for call in group)),
        _more(first),
    )


def _more(call: "CallItem") -> str:
    if call["state"] == _UNKNOWN:
        return f"{call['callId']}, counted by its estimate"
    return call["failureKind"] or ""


def _calls(number: int) -> str:
    return f"{number} call" if number == 1 else f"{number} calls"
