"""Loads the app in a process of its own and tells, as JSON, which types it has in which lanes.

A module that hangs, prints or ends its process when it is imported does so here.
"""

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

from stagepost.diagnosis.finding import Finding, fail, ok
from stagepost.loading import registered
from stagepost.settings import Settings

_LONGEST: Final = 60.0  # seconds
_MARK: Final = "stagepost-types:"


async def load(settings: Settings) -> tuple[Finding, Mapping[str, str]]:
    """Whether the app loads, and its types with their lanes."""
    name = settings.app or "the built-in types"
    remedy = "Mend the module, or name another with --app or STAGEPOST_APP."
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "stagepost.diagnosis.registered", settings.app),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(_LONGEST):
            out, err = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return fail("app", f"{name} does not load within {_LONGEST:.0f} s", remedy), {}
    answer = _answer(out.decode("utf-8", "replace"))
    if answer is None:
        last = (err.decode("utf-8", "replace").strip() or "no answer").splitlines()[-1]
        return fail("app", f"{name} does not load: {last}", remedy), {}
    if "error" in answer:
        return fail("app", answer["error"], remedy), {}
    types: Mapping[str, str] = answer["types"]
    return ok("app", f"{name}: {', '.join(sorted(types)) or 'no types'}"), types


def lanes(types: Mapping[str, str], settings: Settings) -> Iterator[Finding]:
    """Every type's own lane must have a worker."""
    for name, lane in sorted(types.items()):
        if lane not in settings.lanes:
            yield fail(
                "lanes",
                f"the type {name} goes to the lane {lane}, which no worker serves",
                f"Add {lane}:1 to STAGEPOST_LANES, or give the type a lane of "
                f"{', '.join(settings.lanes)}.",
            )


def handlers(types: Mapping[str, str], waiting: Mapping[str, int]) -> Iterator[Finding]:
    """Every task that is not over needs a handler."""
    for name, count in sorted(waiting.items()):
        if name not in types:
            yield fail(
                "handlers",
                f"{count} tasks of the type {name} wait, and no handler is registered",
                "Start `up` with the --app that has it, or cancel them.",
            )


def _answer(out: str) -> Any:
    for line in reversed(out.splitlines()):
        if line.startswith(_MARK):
            return json.loads(line.removeprefix(_MARK))
    return None


def _tell() -> None:
    try:
        app = registered(Settings(app=sys.argv[1]))
    except (ValueError, TypeError) as error:
        answer: dict[str, Any] = {"error": str(error)}
    else:
        answer = {"types": {name: each.lane for name, each in app.types.items()}}
    sys.stdout.write(f"\n{_MARK}{json.dumps(answer)}\n")


if __name__ == "__main__":
    _tell()
