"""The running server."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from stagepost.diagnosis.finding import Finding, Level, fail, ok, warn
from stagepost.remote import Refused, Remote, Unreachable

if TYPE_CHECKING:
    from stagepost.web.fleet_schemas import Lane, Readiness, Worker

_WELL: Final = {
    "store": "takes writes",
    "disk": "has space",
    "draining": "is not being stopped",
    "worker": "claims tasks",
}
_LEVELS: Final = {"ok": Level.OK, "degraded": Level.WARN, "down": Level.FAIL}


async def server(remote: Remote, *, expected: bool) -> tuple[list[Finding], bool]:
    """What it says of itself, and whether it is there.

    Where none is `expected`, a missing one is nothing bad.
    """
    try:
        readiness = await remote.readiness()
        lanes, workers = await remote.fleet.lanes(), await remote.fleet.workers()
    except Unreachable as error:
        if not expected:
            return [ok("server", f"none answers at {remote.url}")], False
        return [fail("server", *_split(str(error)))], False
    except Refused as error:
        return [warn("server", *_split(str(error)))], True
    found = [ok("server", f"answers at {remote.url}"), *_checks(readiness)]
    return [*found, *_served(lanes, workers)], True


def _split(sentence: str) -> tuple[str, str]:
    detail, _, remedy = sentence.partition("; ")
    return detail, remedy[:1].upper() + remedy[1:]


def _checks(readiness: "Readiness") -> Iterator[Finding]:
    for name, check in readiness["checks"].items():
        level = _LEVELS.get(check["status"], Level.FAIL)
        remedy = "" if level is Level.OK else "See the server's log."
        detail = check["detail"] or _WELL.get(name, "works")
        yield Finding(f"server {name}", level, detail, remedy)


def _served(lanes: "Sequence[Lane]", workers: "Sequence[Worker]") -> Iterator[Finding]:
    served = {lane for worker in workers for lane in worker["lanes"]}
    for lane in lanes:
        if lane["queued"] and lane["name"] not in served:
            yield fail(
                "lanes",
                f"{lane['queued']} tasks wait in the lane {lane['name']}, which no worker serves",
                "Add the lane to STAGEPOST_LANES.",
            )
    for worker in workers:
        if worker["state"] == "stalled":
            yield warn(
                "workers",
                f"a handler blocks the worker {worker['id']}",
                "Its log has the stack; let the handler await, or mark it cpu=True.",
            )
