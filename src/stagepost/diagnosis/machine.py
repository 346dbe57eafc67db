"""The machine: versions, limits, the sandbox, the environment."""

import asyncio
import platform
import resource
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Final

import apsw

from stagepost.diagnosis.finding import Finding, ok, warn
from stagepost.environment import unknown_names
from stagepost.tasks.documents import SandboxFailed, sandbox_capabilities

_FEW_FILES: Final = 4_096
_SANDBOX: Final = 30.0  # seconds
_WALLS: Final[Mapping[str, str]] = {
    "memory_limit": "a limit of memory",
    "cpu_limit": "a limit of computing time",
    "parent_death_signal": "an end with the worker",
    "no_new_privileges": "a ban on new rights",
    "network_namespace": "a wall against the network",
}


def versions() -> Finding:
    """Of what runs here."""
    return ok(
        "versions",
        f"Stagepost {version('stagepost')}, Python {platform.python_version()}, "
        f"SQLite {apsw.sqlite_lib_version()}, {platform.system()} {platform.release()}",
    )


def system() -> Finding:
    """Linux is the platform."""
    if sys.platform == "linux":
        return ok("system", "Linux")
    return warn("system", f"{platform.system()} is for development only", "Serve from Linux.")


def file_limit() -> Finding:
    """Each open stream takes a descriptor."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard >= _FEW_FILES:
        return ok("open files", "no limit" if hard == resource.RLIM_INFINITY else f"up to {hard}")
    return warn(
        "open files",
        f"at most {hard}, and each open stream takes one",
        f"Raise the hard limit (ulimit -Hn) to {_FEW_FILES} or more.",
    )


def variables() -> Iterator[Finding]:
    """A variable that nobody reads is a typo."""
    for name in unknown_names():
        yield warn("environment", f"{name} is no setting", "See docs/settings.md for its name.")


async def sandbox() -> Finding:
    """The walls around document parsers."""
    try:
        async with asyncio.timeout(_SANDBOX):
            found = await sandbox_capabilities()
    except (SandboxFailed, OSError, TimeoutError) as error:
        return warn(
            "sandbox",
            f"documents can't be parsed here ({str(error) or 'no answer in time'})",
            "Let this user start processes, and give it some memory.",
        )
    missing = [text for name, text in _WALLS.items() if not getattr(found, name)]
    if not missing:
        return ok("sandbox", "all walls stand around document parsers")
    return warn(
        "sandbox",
        f"document parsers run without {', '.join(missing)}",
        "Allow user namespaces, or take documents only from people you trust.",
    )
