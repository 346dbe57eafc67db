"""How long a provider asks to wait, in each of the ways in which they say it.

`Retry-After` has seconds or a date (RFC 9110, 10.2.3); OpenAI and Azure add milliseconds, and
resets as Go writes durations (`6m0s`); Anthropic tells resets as instants (RFC 3339); Gemini has a
`retryDelay` in the body; others say it in words.
"""

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

from stagepost.llm.said import Said

LONGEST: Final = 31 * 86_400.0
"""Seconds; what asks for more is no wait but a mistake."""

_PARTS: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|us|µs|h|m|s)")
_WHOLE: Final = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|us|µs|h|m|s))+")
_UNITS: Final = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3_600.0}

_IN_WORDS: Final = re.compile(
    r"(?:try again|retry|available again)\s+(?:in|after)\s+"
    r"(?:(?P<go>(?:\d+(?:\.\d+)?(?:ms|us|h|m|s)\b)+)"
    r"|(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>seconds?|minutes?|hours?|milliseconds?))",
    re.IGNORECASE,
)
_WORDS: Final = {"millisecond": 1e-3, "second": 1.0, "minute": 60.0, "hour": 3_600.0}
_REGAIN: Final = re.compile(
    r"regain access on (?P<day>\d{4}-\d{2}-\d{2})(?: at (?P<time>\d{2}:\d{2}) UTC)?", re.IGNORECASE
)

_RESETS: Final = (
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
    ("anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"),
    ("anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"),
)


def asked_wait(said: Said, now: datetime) -> float | None:
    """The longest of the waits that are asked for, in seconds; None where none is.

    `now` is needed for the waits that are told as instants, and has a time zone.
    """
    waits = [wait for wait in _waits(said, now) if wait is not None]
    return min(max(waits), LONGEST) if waits else None


def _waits(said: Said, now: datetime) -> Iterator[float | None]:
    yield _scaled(said.header("retry-after-ms"), 1e-3)
    yield _retry_after(said.header("retry-after"), now)
    for left, reset in _RESETS:
        # Each limit tells when it is full again; only one that is used up has to be waited for.
        if said.header(left) == "0":
            yield reset_wait(said.header(reset), now)
    for delay in said.values("retryDelay"):
        yield _duration(delay)
    yield _in_words(said.message)
    yield _regained(said.message, now)


def _scaled(text: str | None, unit: float) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return max(0.0, number * unit) if math.isfinite(number) else None


def _retry_after(text: str | None, now: datetime) -> float | None:
    if text is None:
        return None
    seconds = _scaled(text, 1.0)
    if seconds is not None:
        return seconds
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return _duration(text)
    return _until(date, now)


def reset_wait(text: str | None, now: datetime) -> float | None:
    """Seconds until a reset that is told as a duration, an instant or seconds; None if none is."""
    if text is None:
        return None
    try:
        return _until(datetime.fromisoformat(text), now)
    except ValueError:
        found = _duration(text)
        return _scaled(text, 1.0) if found is None else found


def _duration(text: str) -> float | None:
    text = text.strip()
    if not _WHOLE.fullmatch(text):
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _PARTS.findall(text))


def _in_words(message: str) -> float | None:
    found = _IN_WORDS.search(message)
    if found is None:
        return None
    if found["go"] is not None:
        return _duration(found["go"])
    return float(found["number"]) * _WORDS[found["unit"].lower().removesuffix("s")]


def _regained(message: str, now: datetime) -> float | None:
    found = _REGAIN.search(message)
    if found is None:
        return None
    try:
        return _until(datetime.fromisoformat(f"{found['day']}T{found['time'] or '00:00'}Z"), now)
    except ValueError:
        return None


def _until(instant: datetime, now: datetime) -> float:
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=UTC)
    return max(0.0, (instant - now) / timedelta(seconds=1))
