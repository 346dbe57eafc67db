"""The data folder of the embedded engine."""

import time
from collections.abc import Iterator
from typing import Final

from stagepost.diagnosis.finding import Finding, fail, ok, warn
from stagepost.stores.sqlite import schema
from stagepost.stores.sqlite.inspection import Look

_LITTLE: Final = 1024**3  # bytes
_TOO_LITTLE: Final = 100 * 1024**2
_SKEW: Final = 60_000  # ms


def folder(look: Look) -> Iterator[Finding]:
    """Everything about a folder that was looked at."""
    yield _writable(look)
    yield _holder(look)
    yield _space(look)
    yield _database(look)
    yield _clock(look)


def _writable(look: Look) -> Finding:
    if look.writable:
        return ok("data folder", f"{look.path}{'' if look.exists else ' (not made yet)'}")
    return fail(
        "data folder",
        f"{look.path} can't be written",
        "Give this user the right to write there, or choose another folder with --data.",
    )


def _holder(look: Look) -> Finding:
    if look.holder is None:
        return ok("lock", "no server has the folder open")
    return ok("lock", f"held by the server, process {look.holder or 'unknown'}")


def _space(look: Look) -> Finding:
    text = f"{look.free / 1024**3:.1f} GiB free"
    remedy = "Free some space, or choose a folder on another disk with --data."
    if look.free < _TOO_LITTLE:
        return fail("disk", text, remedy)
    return warn("disk", text, remedy) if look.free < _LITTLE else ok("disk", text)


def _database(look: Look) -> Finding:
    if look.damage:
        return fail(
            "database",
            f"damaged: {look.damage}",
            "Put a backup in its place, or move it away to start with an empty store.",
        )
    if look.version is not None and look.version > schema.VERSION:
        return fail(
            "database",
            f"written by a newer Stagepost (schema {look.version}, this one knows "
            f"{schema.VERSION})",
            "Install that version, or choose another folder with --data.",
        )
    if look.version is None:
        return ok("database", "empty")
    text = f"schema {look.version}, {look.size / 1024**2:.1f} MiB"
    if look.version < schema.VERSION:
        text += f", will be brought to schema {schema.VERSION} by `up`, which keeps a copy"
    if look.unchecked:
        return warn("database", f"{text}, too large to be checked whole in a minute", _LATER)
    return ok("database", f"{text}, checked whole")


_LATER: Final = "Check it while no server runs: sqlite3 stagepost.db 'PRAGMA quick_check'."


def _clock(look: Look) -> Finding:
    now = time.time_ns() // 1_000_000
    if look.newest is not None and look.newest > now + _SKEW:
        return fail(
            "clock",
            f"{(look.newest - now) // 1000} s behind the youngest task in the folder",
            "Set the clock right; leases and retries go by it.",
        )
    return ok("clock", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now // 1000)))
