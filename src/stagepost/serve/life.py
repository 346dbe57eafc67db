"""A serving process from the opening of its engine to its drain."""

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, TextIO

from stagepost.errors import Conflict, StoreRefused
from stagepost.part import Part
from stagepost.registry import App
from stagepost.serve.web import Web
from stagepost.settings import Settings
from stagepost.supervised import REPLACE_ME, Supervised
from stagepost.web import bootstrap
from stagepost.wiring import Engine, open_engine

_log = logging.getLogger("stagepost.serve")

_BEAT: Final = 1.0  # seconds between two signs of life


@dataclass(frozen=True, slots=True)
class Shared:
    """What the supervisor has opened for this process; without a listener nobody asks it."""

    listener: socket.socket | None
    pipe: int
    stdout: TextIO
    as_json: bool = False
    """Whether what is said on stdout is JSON."""


async def live(settings: Settings, app: App, parts: Collection[Part], shared: Shared) -> int:
    """Serve until told to stop or in need of replacement; returns the exit code.

    Raises StoreRefused.
    """
    supervised = Supervised(shared.pipe)
    supervised.obey()
    async with open_engine(settings, app, parts=parts) as engine:
        # What is refused is refused before the first sign of life (see supervisor).
        if Part.API in parts:
            await _first_key(engine, shared)
        async with _signs_of_life(supervised, settings):
            healthy = await _serve(engine, supervised, shared.listener)
    return 0 if healthy or supervised.told_to_stop.is_set() else REPLACE_ME


async def _first_key(engine: Engine, shared: Shared) -> None:
    try:
        key = await bootstrap(engine.store, engine.settings)
    except (ValueError, Conflict) as error:
        raise StoreRefused(str(error)) from error
    if key is not None:
        told = f"admin key of tenant default (shown only now): {key}"
        line = json.dumps({"adminKey": key, "tenant": "default"}) if shared.as_json else told
        shared.stdout.write(f"{line}\n")
        shared.stdout.flush()


@asynccontextmanager
async def _signs_of_life(supervised: Supervised, settings: Settings) -> AsyncIterator[None]:
    every = min(_BEAT, settings.stall_after / 4)
    beating = asyncio.create_task(supervised.beat(every), name="signs of life")
    try:
        yield
    finally:
        beating.cancel()


async def _serve(engine: Engine, supervised: Supervised, listener: socket.socket | None) -> bool:
    """Serve until told to stop or in need of replacement; False in the latter case."""
    web = Web(engine, listener)
    told = asyncio.create_task(supervised.told_to_stop.wait(), name="told to stop")
    worked = asyncio.create_task(engine.worker.ended(), name="worker ended")
    begun = asyncio.create_task(_announce(engine, web, supervised), name="begun")
    serving = asyncio.create_task(web.run(), name="web")
    try:
        await asyncio.wait({serving, told, worked}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            _log.critical("the HTTP server has ended by a fault", exc_info=serving.exception())
        await _drained(engine, supervised, worked)
        await web.close(serving)
    finally:
        for waiting in (told, worked, begun):
            waiting.cancel()
    return told.done() and not engine.worker.stuck


async def _announce(engine: Engine, web: Web, supervised: Supervised) -> None:
    """Tell the supervisor once the parts that this process has do their work."""
    if Part.WORKER in engine.parts:
        await engine.worker.begun()
    await web.answers.wait()
    supervised.ready()


async def _drained(engine: Engine, supervised: Supervised, worked: "asyncio.Task[None]") -> None:
    if Part.WORKER not in engine.parts:
        return
    # The API answers meanwhile, so that those who watch see their tasks go back to the queue.
    engine.worker.drain()
    hurry = asyncio.create_task(supervised.in_a_hurry.wait(), name="in a hurry")
    await asyncio.wait({worked, hurry}, return_when=asyncio.FIRST_COMPLETED)
    if hurry.done():
        engine.worker.hurry()
    hurry.cancel()
    await asyncio.wait({worked})
