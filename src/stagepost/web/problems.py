"""Errors as RFC 9457 documents, and the one table from what was raised to what is answered."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final

import orjson
from starlette.responses import Response

from stagepost import errors

MEDIA_TYPE: Final = "application/problem+json"
_URN: Final = "urn:stagepost:problem:"
_RETRY_AFTER: Final = "2"  # seconds

Fault = Mapping[str, str]
"""One entry of `errors`: a `detail`, and where it is: `pointer`, `parameter` or `header`."""


class Kind(Enum):
    """The problem types: the last part of the URN, the HTTP status, the title."""

    BAD_REQUEST = ("bad-request", 400, "The request can't be understood")
    UNKNOWN_PARAMETER = ("unknown-parameter", 400, "There is no such query parameter")
    UNAUTHORIZED = ("unauthorized", 401, "A valid API key is needed")
    FORBIDDEN = ("forbidden", 403, "Not allowed")
    NOT_FOUND = ("not-found", 404, "There is nothing here")
    METHOD_NOT_ALLOWED = ("method-not-allowed", 405, "This path does not take this method")
    CONFLICT = ("conflict", 409, "The state of the task forbids it")
    GONE = ("gone", 410, "The task is not kept any more")
    TOO_LARGE = ("too-large", 413, "The request is too large")
    UNSUPPORTED_MEDIA_TYPE = ("unsupported-media-type", 415, "The body's type is not understood")
    VALIDATION = ("validation", 422, "The input is not valid")
    IDEMPOTENCY_IN_PROGRESS = ("idempotency-in-progress", 409, "The same request is under way")
    IDEMPOTENCY_MISMATCH = ("idempotency-mismatch", 422, "The key was used for other content")
    TOO_MANY = ("too-many", 429, "Too much at once")
    HEADERS_TOO_LARGE = ("headers-too-large", 431, "The request's headers are too large")
    INTERNAL = ("internal", 500, "The server failed")
    UNAVAILABLE = ("unavailable", 503, "The server can't do it now")

    def __init__(self, slug: str, status: int, title: str) -> None:
        self.urn = _URN + slug
        self.status = status
        self.title = title


class Problem(Exception):
    """What a request is refused with. `detail` is one sentence for the caller, with the remedy."""

    def __init__(
        self,
        kind: Kind,
        detail: str,
        *,
        faults: Sequence[Fault] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.faults = tuple(faults)
        self.headers = dict(headers or {})
        if kind in {Kind.TOO_MANY, Kind.UNAVAILABLE}:
            self.headers.setdefault("Retry-After", _RETRY_AFTER)

    def body(self) -> bytes:
        """The document."""
        document: dict[str, Any] = {
            "type": self.kind.urn,
            "title": self.kind.title,
            "status": self.kind.status,
            "detail": self.detail,
        }
        if self.kind.status == Kind.VALIDATION.status:
            document["errors"] = self.faults
        return orjson.dumps(document)

    def response(self) -> Response:
        """The answer."""
        return Response(self.body(), self.kind.status, headers=self.headers, media_type=MEDIA_TYPE)


class Disconnected(Exception):
    """The client has gone in the middle of its request: there is nobody to answer."""


def invalid(detail: str, **where: str) -> Problem:
    """A 422 for one fault: `parameter=`, `header=` or `pointer=` says where."""
    return Problem(Kind.VALIDATION, detail, faults=[{"detail": detail, **where}])


def sentence(complaint: str) -> str:
    """Pydantic's complaint without the name of the exception that our own validators raised."""
    return complaint.removeprefix("Value error, ")


def pointer(location: Sequence[str | int]) -> str:
    """A place in a JSON document, as an RFC 6901 pointer in a URI fragment."""
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in location)
    return "#" + "".join(f"/{step}" for step in steps)


_BY_ERROR: Final[tuple[tuple[type[Exception], Kind], ...]] = (
    (errors.UnknownType, Kind.NOT_FOUND),
    (errors.Gone, Kind.GONE),
    (errors.NotFound, Kind.NOT_FOUND),
    (errors.NotAllowed, Kind.FORBIDDEN),
    (errors.IdempotencyMismatch, Kind.IDEMPOTENCY_MISMATCH),
    (errors.IdempotencyInProgress, Kind.IDEMPOTENCY_IN_PROGRESS),
    (errors.Conflict, Kind.CONFLICT),
    (errors.TenantFull, Kind.TOO_MANY),
    (errors.Retryable, Kind.UNAVAILABLE),
)


def problem_of(error: Exception) -> Problem:
    """What an exception means to the caller. Ours show their sentence, foreign ones nothing."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, errors.Invalid):
        faults = [{"detail": text, "pointer": pointer(where)} for where, text in error.errors]
        return Problem(Kind.VALIDATION, str(error), faults=faults)
    if isinstance(error, errors.UnknownLane):
        return invalid(str(error), parameter="lane")
    if isinstance(error, errors.UploadSwept):
        return invalid(str(error), pointer="#")
    for cls, kind in _BY_ERROR:
        if isinstance(error, cls):
            return Problem(kind, str(error))
    return Problem(
        Kind.INTERNAL,
        "The request failed by a fault of the server; its log has the cause under the X-Request-Id "
        "of this answer.",
    )
