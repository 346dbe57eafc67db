"""How a task is run, from a submit's query and headers.

Read by hand, since submit is the path that thousands of requests a second take; documents.py
describes the same parameters, and the tests hold the two together.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

from stagepost.settings import Limits, Settings
from stagepost.web.problems import Kind, Problem, invalid

PRIORITY_MOST: Final = 86_400  # seconds of head start, or of the opposite
_INSTANT: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_PLAIN: Final[Mapping[str, Any]] = {}
_WHOLE: Final = re.compile(r"-?\d{1,10}", re.ASCII)
_SECONDS: Final = re.compile(r"\d{1,10}(\.\d{1,9})?", re.ASCII)
_PREFER_WAIT: Final = re.compile(r"(?:^|[,;])\s*wait\s*=\s*\"?(\d{1,6})\"?\s*(?=$|[,;])")


def parse_options(query: bytes, settings: Settings, now: int) -> Mapping[str, Any]:
    """The fields of client.Options in a query string; `now` is the instant. Raises Problem."""
    if not query:
        return _PLAIN
    limits = settings.limits
    given = _given(query)
    values: dict[str, Any] = {
        _PARSERS[name].field: _PARSERS[name].parse(name, texts, limits)
        for name, texts in given.items()
    }
    _check_times(values, limits, now)
    if values.get("lane", "") not in {"", *settings.lanes}:
        # Before the body is read: a large form need not be sent in vain.
        known = ", ".join(settings.lanes)
        raise invalid(f"There is no such lane; there are: {known}.", parameter="lane")
    return values


def parse_instant(text: str) -> int:
    """An RFC 3339 instant as ms since 1970. Raises ValueError."""
    if not _INSTANT.fullmatch(text):
        raise ValueError(text)
    return round(datetime.fromisoformat(text.upper()).timestamp() * 1000)


def preferred_wait(prefer: str | None, most: float) -> float:
    """The seconds that a Prefer header asks to wait, at most `most`; 0 without one."""
    match = _PREFER_WAIT.search(prefer) if prefer else None
    return min(float(match[1]), most) if match else 0.0


def _given(query: bytes) -> Mapping[str, Sequence[str]]:
    try:
        pairs = parse_qsl(
            query.decode("ascii"), keep_blank_values=True, max_num_fields=100, errors="strict"
        )
    except ValueError as error:
        raise Problem(Kind.BAD_REQUEST, "The query string can't be read.") from error
    given: dict[str, list[str]] = {}
    for name, text in pairs:
        if name not in _PARSERS:
            raise unknown_parameter(name, _PARSERS)
        given.setdefault(name, []).append(text)
    return given


def unknown_parameter(name: str, known: Mapping[str, Any] | Sequence[str]) -> Problem:
    """The refusal of a parameter that does not exist, so that a typo is not ignored."""
    there = f"there are: {', '.join(known)}" if known else "this route takes none"
    return Problem(Kind.UNKNOWN_PARAMETER, f'There is no parameter "{name[:64]}"; {there}.')


def _check_times(values: Mapping[str, Any], limits: Limits, now: int) -> None:
    run_at, deadline = values.get("run_at"), values.get("deadline")
    if "debounce" in values:
        _check_debounce(values)
    if run_at is not None and "delay" in values:
        raise invalid("Give runAt or delaySeconds, not both.", parameter="delaySeconds")
    if run_at is not None and run_at > now + limits.run_ahead_days * 86_400_000:
        raise invalid(f"runAt lies at most {limits.run_ahead_days} days ahead.", parameter="runAt")
    starts = max(now, run_at or 0) + round(values.get("debounce", values.get("delay", 0.0)) * 1000)
    if deadline is not None and deadline <= starts:
        raise invalid("The deadline must lie after the task's start.", parameter="deadline")


def _check_debounce(values: Mapping[str, Any]) -> None:
    if "unique_key" not in values:
        raise invalid("debounceSeconds needs a uniqueKey.", parameter="debounceSeconds")
    if not values["debounce"]:
        raise invalid("debounceSeconds is more than 0.", parameter="debounceSeconds")
    if "run_at" in values or "delay" in values:
        raise invalid(
            "debounceSeconds says when the task starts; leave out runAt and delaySeconds.",
            parameter="debounceSeconds",
        )


def _one(name: str, texts: Sequence[str]) -> str:
    if len(texts) > 1:
        raise invalid(f"{name} is given more than once.", parameter=name)
    return texts[0]


def _lane(name: str, texts: Sequence[str], _limits: Limits) -> str:
    return _one(name, texts) or "(none)"


def _priority(name: str, texts: Sequence[str], _limits: Limits) -> int:
    text = _one(name, texts)
    if not _WHOLE.fullmatch(text) or abs(int(text)) > PRIORITY_MOST:
        raise invalid(
            f"priority is a whole number of seconds, {PRIORITY_MOST} at most.", parameter=name
        )
    return int(text)


def _instant(name: str, texts: Sequence[str], _limits: Limits) -> int:
    try:
        return parse_instant(_one(name, texts))
    except (ValueError, OverflowError):
        raise invalid(
            f"{name} is an RFC 3339 instant such as 2026-01-31T08:00:00Z (write + as %2B).",
            parameter=name,
        ) from None


def _delay(name: str, texts: Sequence[str], limits: Limits) -> float:
    text = _one(name, texts)
    if not _SECONDS.fullmatch(text) or float(text) > limits.run_ahead_days * 86_400:
        raise invalid(
            f"{name} is a number of seconds, at most {limits.run_ahead_days} days.",
            parameter=name,
        )
    return float(text)


def _tags(name: str, texts: Sequence[str], limits: Limits) -> tuple[str, ...]:
    if len(texts) > limits.tags:
        raise invalid(f"A task has at most {limits.tags} tags.", parameter=name)
    if not all(0 < len(text) <= limits.tag_length and text.isprintable() for text in texts):
        raise invalid(f"A tag has 1 to {limits.tag_length} printable characters.", parameter=name)
    return tuple(dict.fromkeys(texts))


def _key(name: str, texts: Sequence[str], limits: Limits) -> str:
    text = _one(name, texts)
    if not (0 < len(text) <= limits.key_length and text.isprintable()):
        raise invalid(f"{name} has 1 to {limits.key_length} printable characters.", parameter=name)
    return text


class _Parser(NamedTuple):
    """How one parameter becomes one field of Options."""

    field: str
    parse: Callable[[str, Sequence[str], Limits], Any]


_PARSERS: Final[Mapping[str, _Parser]] = {
    "lane": _Parser("lane", _lane),
    "priority": _Parser("priority", _priority),
    "runAt": _Parser("run_at", _instant),
    "delaySeconds": _Parser("delay", _delay),
    "deadline": _Parser("deadline", _instant),
    "tag": _Parser("tags", _tags),
    "concurrencyKey": _Parser("concurrency_key", _key),
    "uniqueKey": _Parser("unique_key", _key),
    "debounceSeconds": _Parser("debounce", _delay),
}

NAMES: Final = tuple(_PARSERS)
"""The parameters of a submit."""
