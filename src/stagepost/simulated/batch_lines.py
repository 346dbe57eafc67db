"""The lines of a batch's files, in and out. Pure."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from stagepost.simulated.asked import BadRequest
from stagepost.simulated.reading import parsed

MOST_LINES: Final = 50_000


@dataclass(frozen=True, slots=True)
class Line:
    """One call of a batch."""

    custom_id: str
    body: Mapping[str, Any]


def lines_of(content: bytes, endpoint: str) -> Sequence[Line]:
    """The calls of an input file. Raises BadRequest, which names the line."""
    found: list[Line] = []
    seen: set[str] = set()
    for number, text in enumerate(content.splitlines(), 1):
        if not text.strip():
            continue
        if len(found) >= MOST_LINES:
            raise BadRequest(f"A batch has at most {MOST_LINES} lines.")
        line = _line(text, number, endpoint)
        if line.custom_id in seen:
            raise BadRequest(f"Line {number}: the custom_id is there already.")
        seen.add(line.custom_id)
        found.append(line)
    if not found:
        raise BadRequest("The input file has no lines.")
    return found


def answered(line: Line, body: Any, status: int = 200) -> bytes:
    """A line of the output file, or with another status of the error file."""
    return orjson.dumps(
        {
            "id": f"batch_req_{secrets.token_hex(8)}",
            "custom_id": line.custom_id,
            "response": {
                "status_code": status,
                "request_id": f"req_{secrets.token_hex(12)}",
                "body": body,
            },
            "error": None,
        }
    )


def made_whole(lines: Sequence[bytes]) -> bytes:
    """A file of lines."""
    return b"\n".join(lines) + b"\n"


def _line(text: bytes, number: int, endpoint: str) -> Line:
    try:
        value = parsed(text)
    except BadRequest as error:
        raise BadRequest(f"Line {number}: {error}") from error
    name, body = value.get("custom_id"), value.get("body")
    if not isinstance(name, str) or not name:
        raise BadRequest(f"Line {number}: custom_id is missing.")
    if value.get("method") != "POST" or value.get("url") != endpoint:
        raise BadRequest(f"Line {number}: method and url must be POST {endpoint}.")
    if not isinstance(body, dict):
        raise BadRequest(f"Line {number}: body must be an object.")
    return Line(name, body)
