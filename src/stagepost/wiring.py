"""Builds the whole engine from the settings."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final

from stagepost import adapters
from stagepost.anchor import Anchor
from stagepost.blobs import Blobs
from stagepost.body_codec import PLAIN, BodyCodec
from stagepost.broker import Broker
from stagepost.bus import Bus
from stagepost.client import Client
from stagepost.clock import Clock, SystemClock
from stagepost.executor import Executor
from stagepost.learning import Learner
from stagepost.limiting import Limiting
from stagepost.llm.asking import Asking
from stagepost.llm.catalogue import Catalogue
from stagepost.maintenance.families import Families
from stagepost.maintenance.housekeeping import Housekeeping
from stagepost.maintenance.limit_waker import LimitWaker
from stagepost.maintenance.lost_calls import LostCalls
from stagepost.maintenance.mass_changer import MassChanger
from stagepost.maintenance.planner import Planner
from stagepost.maintenance.pruner import Pruner
from stagepost.maintenance.rescuer import Rescuer
from stagepost.maintenance.scheduler import Scheduler
from stagepost.maintenance.sealer import Sealer
from stagepost.maintenance.sweeper import Sweeper
from stagepost.maintenance.versions import VersionWatch
from stagepost.notifier import Notifier
from stagepost.part import EVERYTHING, Part
from stagepost.registry import App
from stagepost.settings import Settings
from stagepost.store import Store
from stagepost.worker import Worker, WorkerOptions

_log = logging.getLogger("stagepost")

_BEGIN_ANEW: Final = 1.0  # seconds before a loop that has failed is begun anew


@dataclass(frozen=True, slots=True)
class Engine:
    """All of a process's engine; of the parts that are not in `parts` nothing runs.

    `models` are those of models.toml, if there is one; only a worker is `asking` them.
    """

    settings: Settings
    app: App
    parts: Collection[Part]
    clock: Clock
    store: Store
    broker: Broker
    bus: Bus
    limiting: Limiting
    models: Catalogue | None
    asking: Asking | None
    blobs: Blobs
    notifier: Notifier
    client: Client
    worker: Worker
    learner: Learner
    anchor: Anchor | None = None
    codec: BodyCodec = PLAIN


@asynccontextmanager
async def open_engine(
    settings: Settings,
    app: App,
    clock: Clock | None = None,
    parts: Collection[Part] = EVERYTHING,
) -> AsyncIterator[Engine]:
    """An engine whose parts work while the context lasts; its worker drains at the end.

    Raises StoreRefused when the store, the bus or the limiter can't be opened.
    """
    async with AsyncExitStack() as opened:
        engine = await _opened(settings, app, clock or SystemClock(), parts, opened)
        if settings.embedded:
            # The folder's lock is ours: whoever had a claim before is dead.
            await engine.store.rescue(older_than=0.0)
        await engine.store.warm(workers=Part.WORKER in engine.parts)
        async with _loops(engine, settings):
            yield engine


@asynccontextmanager
async def _loops(engine: Engine, settings: Settings) -> AsyncIterator[None]:
    waker = LimitWaker(engine.limiting.limiter, engine.store, engine.clock)
    loops = {"notifier": engine.notifier.run, "limit waker": waker.run}
    if Part.WORKER in engine.parts:
        loops["learner"] = engine.learner.run
    if Part.MAINTENANCE in engine.parts:
        loops["scheduler"] = Scheduler(engine.store, engine.clock).run
        loops["families"] = Families(engine.store, engine.clock).run
        loops["planner"] = Planner(engine.store, engine.clock).run
        loops["versions"] = VersionWatch(engine.store, engine.clock, settings.lease).run
        loops["rescuer"] = Rescuer(engine.store, engine.clock, settings.lease).run
        loops["mass changes"] = MassChanger(engine.store, engine.clock).run
        loops["sealer"] = Sealer(engine.store, engine.clock, engine.anchor).run
        loops["housekeeping"] = _housekeeping(engine).run
    keepers = [
        asyncio.create_task(_keep(name, run, engine.clock), name=name)
        for name, run in loops.items()
    ]
    try:
        async with _working(engine):
            yield
    finally:
        for keeper in keepers:
            keeper.cancel()
        await asyncio.gather(*keepers, return_exceptions=True)


def _housekeeping(engine: Engine) -> Housekeeping:
    store, clock = engine.store, engine.clock
    pruner = Pruner(store, clock, engine.settings.keep)
    sweeper = Sweeper(store, engine.blobs, clock)
    return Housekeeping(store, clock, pruner, sweeper, LostCalls(store))


@asynccontextmanager
async def _working(engine: Engine) -> AsyncIterator[None]:
    if Part.WORKER not in engine.parts:
        yield
        return
    working = asyncio.create_task(engine.worker.run(), name="worker")
    try:
        yield
    finally:
        engine.worker.drain()
        await working


async def _keep(name: str, run: Callable[[], Coroutine[Any, Any, None]], clock: Clock) -> None:
    """A loop that ends by a fault is begun anew: without it the engine would only seem to live."""
    while True:
        try:
            await run()
        except Exception:  # noqa: BLE001  # whatever it is, it is logged and the loop goes on
            _log.exception("the loop %s has ended by a fault and is begun anew", name)
        await clock.sleep(_BEGIN_ANEW)


async def _opened(
    settings: Settings,
    app: App,
    clock: Clock,
    parts: Collection[Part],
    opened: AsyncExitStack,
) -> Engine:
    broker, codec = adapters.broker(settings), adapters.body_codec(settings)
    open_bus, open_limiter = adapters.bus(settings), adapters.limiter(settings)
    open_store = adapters.store(settings)
    bus = await open_bus(settings, parts)
    opened.push_async_callback(bus.close)
    store = await open_store(settings, clock, bus.ring)
    opened.push_async_callback(store.close)
    limiter = await open_limiter(settings, clock)
    opened.push_async_callback(limiter.close)
    limiting = Limiting(limiter, store, settings.shared_limits, clock)
    blobs = adapters.blobs(settings)
    opened.push_async_callback(blobs.close)
    opened.push_async_callback(broker.close)
    notifier = Notifier(store, bus)
    client = Client(
        app=app, store=store, broker=broker, blobs=blobs, notifier=notifier, lanes=settings.lanes
    )
    learner = Learner(store, clock)
    anchor = adapters.anchor(settings) if Part.MAINTENANCE in parts else None
    if anchor is not None:
        opened.push_async_callback(anchor.close)
    models = None if set(parts) == {Part.MAINTENANCE} else adapters.models(settings)
    asking = adapters.asking(models, limiter, store, clock) if Part.WORKER in parts else None
    executor = Executor(app, store, blobs, bus, learner, settings.lanes, limiting, asking, codec)
    worker = Worker(app, store, bus, executor, _worker_options(settings))
    return Engine(
        settings,
        app,
        parts,
        clock,
        store,
        broker,
        bus,
        limiting,
        models,
        asking,
        blobs,
        notifier,
        client,
        worker,
        learner,
        anchor,
        codec,
    )


def _worker_options(settings: Settings) -> WorkerOptions:
    return WorkerOptions(
        lanes=settings.lanes,
        slots=settings.concurrency,
        lease=settings.lease,
        heartbeat=settings.heartbeat,
        drain_grace=settings.drain_grace,
        cancel_grace=settings.cancel_grace,
        stall_after=settings.stall_after,
        version=version("stagepost"),
    )
