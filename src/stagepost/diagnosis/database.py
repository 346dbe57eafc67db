"""The PostgreSQL database that is the store, and the bus beside it."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from stagepost.buses.postgres import PostgresBus
from stagepost.diagnosis.finding import Finding, fail, ok, warn
from stagepost.errors import StagepostError
from stagepost.limiters.postgres import look_at
from stagepost.settings import Settings
from stagepost.stores.postgres.inspection import Look
from stagepost.stores.postgres.opening import OLDEST_SERVER
from stagepost.stores.postgres.schema import VERSION

_SKEW: Final = 2.0  # seconds
_FEW: Final = 20  # connections; each process of the engine takes about ten
_SECURED: Final = ("on", "remote_apply", "remote_write", "local")
"""Values of synchronous_commit with which a commit is on the server's own disk."""
_LITTLE: Final = 1024**3  # bytes


def database(look: Look) -> Iterator[Finding]:
    """Everything about a database that was looked at."""
    if look.trouble:
        detail, _, remedy = look.trouble.partition("; ")
        yield fail("database", detail, remedy[:1].upper() + remedy[1:] or "See the server's log.")
        return
    yield _server(look)
    yield _rights(look)
    yield _schema(look)
    yield _clock(look)
    yield _durability(look)
    yield _standbys(look)
    yield _connections(look)


async def bus(settings: Settings) -> Finding:
    """Whether processes can wake each other."""
    if settings.bus_address == "memory":
        return warn(
            "bus",
            "memory, which reaches no other process",
            "Unset STAGEPOST_BUS unless `stagepost up` is the only process.",
        )
    try:
        opened = await PostgresBus.open(
            settings.bus_address, text=False, setting=settings.bus_setting
        )
        await opened.close()
    except StagepostError as error:
        detail, _, remedy = str(error).partition("; ")
        return fail("bus", detail, remedy[:1].upper() + remedy[1:])
    return ok("bus", "notifications pass")


async def limiter(settings: Settings) -> Finding:
    """Whether processes can count together."""
    if settings.limiter_address == "memory":
        return warn(
            "limiter",
            "memory, which counts in one process",
            "Unset STAGEPOST_LIMITER unless `stagepost up` is the only process.",
        )
    try:
        await look_at(settings.limiter_address, settings.limiter_setting)
    except StagepostError as error:
        detail, _, remedy = str(error).partition("; ")
        return fail("limiter", detail, remedy[:1].upper() + remedy[1:])
    return ok("limiter", "its database answers")


def blobs(settings: Settings) -> Finding:
    """The folder of large values, which all processes must share."""
    folder = settings.blob_folder
    ground = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    if not os.access(ground, os.W_OK | os.X_OK):
        return fail(
            "blobs",
            f"{folder} can't be written",
            "Give this user the right, or set STAGEPOST_BLOBS.",
        )
    text = f"{folder}, {_free(ground) / 1024**3:.1f} GiB free"
    if not settings.blobs:
        return warn(
            "blobs",
            f"{text}; each folder of data has its own",
            "Set STAGEPOST_BLOBS to one folder that every API and worker sees.",
        )
    if _free(ground) < _LITTLE:
        return warn("blobs", text, "Free some space.")
    return ok("blobs", text)


def _free(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def _server(look: Look) -> Finding:
    text = f"PostgreSQL {look.server} at {look.place}, {look.size / 1024**2:.1f} MiB"
    if look.standby or look.read_only:
        return fail("database", f"{text}, is read-only", "Name the primary in STAGEPOST_STORE.")
    if look.server < OLDEST_SERVER:
        return fail("database", text, f"Stagepost needs PostgreSQL {OLDEST_SERVER} or newer.")
    return ok("database", text)


def _rights(look: Look) -> Finding:
    if look.rights:
        return ok("rights", f"the role may make and use the schema {look.schema}")
    return fail(
        "rights",
        f"the role may not make or change the schema {look.schema}",
        f"GRANT CREATE ON DATABASE to the role, or make the role the owner of {look.schema}.",
    )


def _schema(look: Look) -> Finding:
    if look.oldest > VERSION:
        return fail(
            "schema",
            f"version {look.version}, for which this Stagepost (version {VERSION}) is too old",
            "Install a newer Stagepost.",
        )
    if not look.version:
        return ok("schema", f"none yet; the first process makes version {VERSION}")
    if look.version < VERSION:
        return ok("schema", f"version {look.version}; the next start brings it to {VERSION}")
    newer = ", newer than this Stagepost, which may work on it" if look.version > VERSION else ""
    return ok("schema", f"version {look.version}{newer}")


def _clock(look: Look) -> Finding:
    side = "ahead of" if look.ahead >= 0 else "behind"
    text = f"the database's is {abs(look.ahead):.2f} s {side} this machine's"
    if abs(look.ahead) < _SKEW:
        return ok("clock", text)
    return warn("clock", text, "Leases go by the database's clock; set both by NTP all the same.")


def _durability(look: Look) -> Finding:
    if not (look.fsync and look.whole_pages):
        return fail(
            "durability",
            f"fsync is {_on(look.fsync)} and full_page_writes {_on(look.whole_pages)}: a power cut "
            "may destroy the database",
            "Set both to on.",
        )
    if look.synchronous_commit not in _SECURED:
        return fail(
            "durability",
            f"synchronous_commit is {look.synchronous_commit}: a task may be lost behind its 202",
            "Set it to on for this database or role.",
        )
    return ok("durability", "a commit is on the server's disk before it is answered")


def _on(setting: bool) -> str:  # noqa: FBT001  # a word for a setting
    return "on" if setting else "off"


def _standbys(look: Look) -> Finding:
    if look.standby_names and look.synchronous_commit != "local":
        return ok("standbys", f"a commit waits for {look.standby_names}")
    return warn(
        "standbys",
        "none is synchronous: a failover may lose the tasks that were accepted last",
        "Set synchronous_standby_names and synchronous_commit=on, unless there is no failover.",
    )


def _connections(look: Look) -> Finding:
    text = f"{look.used} of {look.most} in use"
    if look.most - look.used >= _FEW:
        return ok("connections", text)
    return warn("connections", text, "Raise max_connections; a process takes about ten.")
