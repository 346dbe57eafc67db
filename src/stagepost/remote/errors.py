"""What can go wrong between a client and a server, each as one sentence with the remedy."""

import re
from collections.abc import Mapping
from typing import Any, Final

import httpx
import orjson

from stagepost.errors import Retryable, Terminal

_PROBLEM: Final = "application/problem+json"
_URN: Final = "urn:stagepost:problem:"
_LINE: Final = re.compile(r"Line \d+ ")
_MOST_FAULTS: Final = 3  # named in the sentence; the others are counted
BUSY: Final = frozenset({429, 502, 503, 504})
"""Statuses that the same request may not meet again in a moment."""


class Unreachable(Retryable):
    """No server answered, or it could not do it now."""


class Full(Unreachable):
    """The server has room for it later, and kept nothing of it."""


class Refused(Terminal):
    """The server answered no. `status` is that of HTTP, `kind` the problem's name."""

    def __init__(self, message: str, *, status: int, kind: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind


def no_answer(url: str, error: httpx.TransportError) -> Unreachable:
    """What a failed connection means to the person at the command line."""
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return Unreachable(
            f"No server answers at {url}; start one with `stagepost up`, or name another with "
            "--url or STAGEPOST_URL."
        )
    if isinstance(error, httpx.TimeoutException):
        return Unreachable(f"The server at {url} did not answer in time; look at its log.")
    return Unreachable(f"The connection to {url} broke off ({_reason(error)}); try again.")


def refusal(url: str, response: httpx.Response) -> Refused | Unreachable:
    """What an answer that is no success means; its body must have been read."""
    status = response.status_code
    problem = _document(response)
    if problem is None:
        if status in BUSY:
            return Unreachable(f"The server at {url} can't do it now ({status}); try again.")
        return Refused(
            f"{url} does not answer as a Stagepost server ({status}); check --url.", status=status
        )
    detail = " ".join(str(problem.get("detail") or problem.get("title") or status).split())
    if status in BUSY:
        told = f"The server at {url} can't do it now: {detail}"
        return Full(told) if status == httpx.codes.TOO_MANY_REQUESTS else Unreachable(told)
    if status == httpx.codes.UNAUTHORIZED:
        detail += " Set it as STAGEPOST_API_KEY."
    kind = str(problem.get("type", "")).removeprefix(_URN)
    return Refused(_with_faults(detail, problem.get("errors")), status=status, kind=kind)


def _document(response: httpx.Response) -> Mapping[str, Any] | None:
    if response.headers.get("content-type", "").partition(";")[0].strip() != _PROBLEM:
        return None
    try:
        problem = orjson.loads(response.content)
    except orjson.JSONDecodeError:
        return None
    return problem if isinstance(problem, dict) else None


def _with_faults(detail: str, errors: Any) -> str:
    faults = [fault for fault in errors or () if isinstance(fault, dict)]
    if not faults or [fault.get("detail") for fault in faults] == [detail]:
        return detail
    more = len(faults) - _MOST_FAULTS
    # The sentence names the line already, and counts as people do.
    skipped = 1 if _LINE.match(detail) else 0
    told = [_fault(fault, skipped) for fault in faults[:_MOST_FAULTS]]
    return f"{detail} ({'; '.join([*told, *([f'and {more} more'] if more > 0 else [])])})"


def _fault(fault: Mapping[str, Any], skipped: int) -> str:
    place = fault.get("pointer") or fault.get("parameter") or fault.get("header") or ""
    name = ".".join(str(place).removeprefix("#/").split("/")[skipped:])
    detail = " ".join(str(fault.get("detail", "")).split())
    return f"{name}: {detail}" if name else detail


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
