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


def control_routes(simulation: Simulation) -> list[BaseRoute]:
    """The routes of one provider."""

    async def summary(_request: Request) -> Response:
        return JSONResponse(simulation.summary())

    async def ledger(request: Request) -> Response:
        after = _number(request, "after", 0, 2**53)
        most = _number(request, "limit", _PAGE, _MOST_PAGE)
        calls = [record.told() for record in simulation.ledger.calls(after, most)]
        following = calls[-1]["call"] if len(calls) == most else None
        return JSONResponse({"items": calls, "next": following})

    async def repeated(_request: Request) -> Response:
        ledger = simulation.ledger
        return JSONResponse(
            {
                "byKey": ledger.by_key.often(_MOST_REPEATED),
                "byContent": ledger.by_content.often(_MOST_REPEATED),
            }
        )

    async def script(request: Request) -> Response:
        if request.method == "POST":
            given = _valid(_Steps, await _sent(request))
            if given.replace:
                simulation.script.clear()
            try:
                simulation.script.add(given.steps)
            except ValueError as error:
                raise BadRequest(str(error)) from error
        coming = [
            {**step.model_dump(by_alias=True, exclude_none=True), "left": left}
            for step, left in simulation.script.coming
        ]
        return JSONResponse({"steps": coming})

    async def limits(request: Request) -> Response:
        simulation.change(_valid(Change, await _sent(request)))
        return JSONResponse(simulation.summary()["limits"])

    async def faults(request: Request) -> Response:
        try:
            simulation.set_faults(_RATES.validate_python(await _sent(request)))
        except ValueError as error:
            raise BadRequest(_told(error)) from error
        return JSONResponse(dict(simulation.faults))

    return [
        Route("/_sim/summary", _local(summary)),
        Route("/_sim/ledger", _local(ledger)),
        Route("/_sim/repeated", _local(repeated)),
        Route("/_sim/script", _local(script), methods=["GET", "POST"]),
        Route("/_sim/limits", _local(limits), methods=["POST"]),
        Route("/_sim/faults", _local(faults), methods=["POST"]),
    ]


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
