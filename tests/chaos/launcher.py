"""An engine in a process of its own, told what to do by lines of JSON. Run with one JSON argument.

In: {"submit": KEY, "type": T, "input": {...}}, {"cancel": ID}, {"watch": ID, "after": N},
{"signal": ID, "values": [...]}, {"redrive": ID}
{"open": 1}, {"schedule": NAME, "type": T, "input": {...}}: each second, and all that was missed
Out: {"ready": PID}, {"accepted": KEY, "id": ID} or {"refused": KEY, "why": TEXT}, {"open": COUNT},
{"event": N, "id": ID}. SIGTERM drains and ends it.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from chaos.faults import (
    Deaf,
    EarlyAnswer,
    EarlyEnd,
    Faulty,
    Forgetful,
    ForgetfulCalls,
    NoFence,
)
from chaos.plan import Plan
from chaos.power import watch
from chaos.tasks import app
from engine_kit.engine import opener
from stagepost import adapters, handler_waits, wiring
from stagepost.blobstores.folder import FolderBlobs
from stagepost.errors import StagepostError
from stagepost.event import Event
from stagepost.executor import Executor
from stagepost.options import Options
from stagepost.part import Part
from stagepost.records import Filter, Idempotency, Scope
from stagepost.schedule import Misfire, Overlap
from stagepost.scheduling import Wish
from stagepost.settings import Settings
from stagepost.stores import sqlite
from stagepost.stores.postgres import PostgresStore
from stagepost.stores.sqlite.folder import DataFolder, open_writer
from stagepost.task import SETTLED, Status
from stagepost.wiring import Engine, open_engine
from stagepost.worker import Worker

_ALL = Scope(None)
_OPEN = tuple(status for status in Status if status not in SETTLED)


class Session:
    """What one process does for the recorder."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._doing: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
        say(ready=os.getpid())
        while line := await reader.readline():
            self._do(self._obey(json.loads(line)))

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        doing = asyncio.create_task(work)
        self._doing.add(doing)
        doing.add_done_callback(self._doing.discard)

    async def _obey(self, order: dict[str, Any]) -> None:
        match order:
            case {"submit": key, "type": name, "input": given, "unique": unique}:
                await self._submit(key, name, given, unique)
            case {"cancel": task_id}:
                try:
                    await self._engine.client.cancel(task_id)
                except StagepostError as error:
                    say(uncancelled=task_id, why=str(error))
            case {"signal": task_id, "values": values}:
                await self._signal(task_id, values)
            case {"redrive": task_id}:
                await self._engine.client.redrive(task_id)
                say(redriven=task_id)
            case {"schedule": name, "type": type_name, "input": given}:
                await self._engine.client.schedules.create(
                    Wish(
                        name=name,
                        type=type_name,
                        input=given,
                        every=1,
                        overlap=Overlap.QUEUE,
                        misfire=Misfire.ALL,
                    )
                )
                say(scheduled=name)
            case {"watch": task_id, "after": after}:
                await self._watch(task_id, after)
            case {"open": _}:
                where = Filter(statuses=_OPEN, limit=1000)
                say(open=len(await self._engine.store.find(_ALL, where)))

    async def _submit(self, key: str, name: str, given: Any, unique: str | None) -> None:
        options = Options(idempotency=Idempotency("chaos", key, key), unique_key=unique)
        try:
            submitted = await self._engine.client.submit(name, given, options=options)
        except StagepostError as error:
            say(refused=key, why=str(error))
        else:
            say(accepted=key, id=submitted.task_id)

    async def _signal(self, task_id: str, values: list[Any]) -> None:
        """Each value once, in their order, however often this is asked for."""
        try:
            for value in values:
                signal_id = str(uuid5(UUID(task_id), str(value)))
                await self._engine.client.signal(task_id, "say", value, signal_id=signal_id)
        except StagepostError as error:
            say(unheard=task_id, why=str(error))

    async def _watch(self, task_id: str, after: int) -> None:
        async with self._engine.notifier.watch(task_id, after) as watch:
            while not watch.cut:
                for item in await watch.next(60):
                    if isinstance(item, Event):
                        say(event=item.seq, id=task_id)


def say(**words: Any) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def wire(plan: Plan) -> None:
    """Put the plan's faults around the ports, where the wiring takes them from."""

    def broken(built: Any) -> Any:
        if "early-answer" in plan.breaks:
            built = EarlyAnswer(built)
        if "forgetful" in plan.breaks:
            built = Forgetful(built)
        if "forgetful-calls" in plan.breaks:
            built = ForgetfulCalls(built)
        if "early-end" in plan.breaks:
            built = EarlyEnd(built)
        if "no-fence" in plan.breaks:
            built = NoFence(built)
        if plan.deaf_for:
            built = Deaf(built, plan.deaf_for)
        return Faulty(built, plan.faults)

    async def postgres(settings: Settings, clock: Any, ring: Any) -> Any:
        return broken(await PostgresStore.open(settings.store, clock, ring))

    def blobs(folder: Path) -> Any:
        return Faulty(FolderBlobs(folder), plan.faults)

    parts: Any = adapters
    parts.STORES["sqlite"] = opener(lambda *args: broken(sqlite.SqliteStore(*args)))
    parts.STORES["postgresql"] = postgres
    parts.FolderBlobs = blobs
    waits: Any = handler_waits
    waits.BRIEF = 0.02
    if "no-sync" in plan.breaks:

        def unsynced(folder: DataFolder) -> Any:
            connection = open_writer(folder)
            connection.pragma("synchronous", "OFF")
            return connection

        module: Any = sqlite
        module.open_writer = unsynced


async def stand_in(engine: Engine) -> None:
    """A second worker, which comes when the first has taken what there is."""
    await asyncio.sleep(0.5)
    executor = Executor(engine.app, engine.store, engine.blobs, engine.bus, engine.learner)
    options = wiring._worker_options(engine.settings)
    worker = Worker(engine.app, engine.store, engine.bus, executor, options)
    working = asyncio.create_task(worker.run())
    try:
        await asyncio.shield(working)
    finally:
        worker.drain()
        await working


async def main(plan: Plan) -> None:
    wire(plan)
    settings = Settings(
        data=Path(plan.data),
        store=plan.store,
        concurrency=plan.concurrency,
        lease=plan.lease,
        heartbeat=0.2,
        drain_grace=1.0,
        cancel_grace=1.0,
        stall_after=5.0,
        models=plan.models,
    )
    async with open_engine(settings, app, parts=[Part(name) for name in plan.parts]) as engine:
        session = asyncio.create_task(Session(engine).run())
        others = [asyncio.create_task(stand_in(engine))] if plan.stand_in else []
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, session.cancel)
        await asyncio.wait([session])
        for other in others:
            other.cancel()
        await asyncio.gather(*others, return_exceptions=True)


if __name__ == "__main__":
    given = Plan.read(sys.argv[1])
    disk = watch(Path(given.power))
    asyncio.run(main(given))
