"""The provider's own routes under /_sim: what it has done, and what it shall do.

Only this machine may use them, by an address of its own, so that no page of a browser can.
"""

from collections.abc import Awaitable, Callable
from functools import wraps
from ipaddress import ip_address
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from stagepost.simulated.asked import BadRequest
from stagepost.simulated.lending import Change
from stagepost.simulated.reading import read_json
from stagepost.simulated.script import MOST_STEPS, Step
from stagepost.simulated.simulation import Simulation

_PAGE: Final = 1_000
_MOST_PAGE: Final = 10_000
_MOST_REPEATED: Final = 1_000

Handler = Callable[[Request], Awaitable[Response]]
Shape = TypeVar("Shape", bound=BaseModel)
_RATES: Final = TypeAdapter(dict[str, float])


class _Steps(BaseModel):
    model_config = ConfigDict(extra="forbid")

    steps: list[Step] = Field(max_length=MOST_STEPS)
    replace: bool = False


class Control:
    """The handlers for one provider."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    def routes(self) -> list[BaseRoute]:
        """Where they are found."""
        both = ["GET", "POST"]
        return [
            Route("/_sim/summary", _local(self._summary)),
            Route("/_sim/ledger", _local(self._ledger)),
            Route("/_sim/repeated", _local(self._repeated)),
            Route("/_sim/script", _local(self._script), methods=both),
            Route("/_sim/limits", _local(self._limits), methods=["POST"]),
            Route("/_sim/faults", _local(self._faults), methods=["POST"]),
        ]

    async def _summary(self, _request: Request) -> Response:
        return JSONResponse(self._simulation.summary())

    async def _ledger(self, request: Request) -> Response:
        after = _number(request, "after", 0, 2**53)
        most = _number(request, "limit", _PAGE, _MOST_PAGE)
        calls = [record.told() for record in self._simulation.ledger.calls(after, most)]
        following = calls[-1]["call"] if calls and len(calls) == most else None
        return JSONResponse({"items": calls, "next": following})

    async def _repeated(self, _request: Request) -> Response:
        ledger = self._simulation.ledger
        by_key = ledger.by_key.often(_MOST_REPEATED)
        by_content = ledger.by_content.often(_MOST_REPEATED)
        return JSONResponse({"byKey": by_key, "byContent": by_content})

    async def _script(self, request: Request) -> Response:
        script = self._simulation.script
        if request.method == "POST":
            given = _valid(_Steps, await _sent(request))
            if given.replace:
                script.clear()
            try:
                script.add(given.steps)
            except ValueError as error:
                raise BadRequest(str(error)) from error
        coming = [
            {**step.model_dump(by_alias=True, exclude_none=True), "left": left}
            for step, left in script.coming
        ]
        return JSONResponse({"steps": coming})

    async def _limits(self, request: Request) -> Response:
        self._simulation.change(_valid(Change, await _sent(request)))
        return JSONResponse(self._simulation.summary()["limits"])

    async def _faults(self, request: Request) -> Response:
        try:
            self._simulation.set_faults(_RATES.validate_python(await _sent(request)))
        except ValueError as error:
            raise BadRequest(_told(error)) from error
        return JSONResponse(dict(self._simulation.faults))


def _local(handler: Handler) -> Handler:
    @wraps(handler)
    async def guarded(request: Request) -> Response:
        if not (_is_loopback(request.client and request.client.host) and _own_name(request)):
            error = {"message": "Only this machine may use this, by a loopback address."}
            return JSONResponse({"error": error}, 403)
        return await handler(request)

    return guarded


def _own_name(request: Request) -> bool:
    host = request.url.hostname
    return host == "localhost" or _is_loopback(host)


def _is_loopback(host: str | None) -> bool:
    try:
        return ip_address(host or "").is_loopback
    except ValueError:
        return False


async def _sent(request: Request) -> Any:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        # A page of a browser may send other types unasked.
        raise BadRequest("Send JSON with Content-Type: application/json.")
    return await read_json(request)


def _valid(shape: type[Shape], value: Any) -> Shape:
    try:
        return shape.model_validate(value)
    except ValidationError as error:
        raise BadRequest(_told(error)) from error


def _told(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    found = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in found["loc"])
    return f"{place}: {found['msg'].removeprefix('Value error, ')}"


def _number(request: Request, name: str, default: int, most: int) -> int:
    text = request.query_params.get(name, str(default))
    if not (text.isascii() and text.isdigit() and int(text[:20]) <= most):
        raise BadRequest(f"{name} must be a number from 0 to {most}.", name)
    return int(text)
