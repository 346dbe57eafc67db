"""The whole diagnosis, part after part."""

import asyncio
from collections.abc import Mapping

from stagepost.diagnosis import audit, data_folder, database, machine, registered
from stagepost.diagnosis import models as models_toml
from stagepost.diagnosis.finding import Finding, Level, fail
from stagepost.diagnosis.server import server
from stagepost.errors import StoreRefused
from stagepost.remote import Remote
from stagepost.settings import Settings
from stagepost.stores.postgres.inspection import inspect as inspect_database
from stagepost.stores.sqlite.inspection import inspect


async def examine(settings: Settings, remote: Remote, *, expected: bool) -> list[Finding]:
    """Everything there is to see; `expected`: a server must answer.

    It changes nothing. A running server is asked; its folder and its app are looked at only where
    they are named.
    """
    found = [machine.versions(), machine.system(), machine.file_limit(), *machine.variables()]
    answers, running = await server(remote, expected=expected)
    found += answers
    types: Mapping[str, str] | None = None
    if settings.app or not running:
        app, loaded = await registered.load(settings)
        found += [app, *registered.lanes(loaded, settings)]
        types = loaded if app.level is Level.OK else None
    if not settings.embedded:
        found += await _database(settings, types)
    elif not running or settings.folder.exists():
        found += await _folder(settings, types)
    found += await models_toml.models(settings)
    found.append(audit.anchor(settings))
    found.append(await machine.sandbox())
    return found


async def _folder(settings: Settings, types: Mapping[str, str] | None) -> list[Finding]:
    try:
        look = await asyncio.to_thread(inspect, settings.folder)
    except (StoreRefused, OSError) as error:
        return [fail("data folder", str(error), "Choose another folder with --data.")]
    found = [*data_folder.folder(look)]
    if types is not None:
        found += registered.handlers(types, look.open_types)
    return found


async def _database(settings: Settings, types: Mapping[str, str] | None) -> list[Finding]:
    try:
        look = await inspect_database(settings.store)
    except StoreRefused as error:
        return [fail("database", str(error), "Write STAGEPOST_STORE as docs/settings.md says.")]
    found = [*database.database(look)]
    if not look.trouble:
        found.append(await database.bus(settings))
        found.append(await database.limiter(settings))
    found.append(database.blobs(settings))
    if types is not None:
        found += registered.handlers(types, look.waiting)
    return found
