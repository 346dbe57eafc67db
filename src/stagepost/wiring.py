"""Builds the whole engine from the settings. The only place that knows which adapter is which."""

import asyncio
import importlib
import logging
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, TypeVar

from stagepost.blobs import Blobs
from stagepost.blobstores.folder import FolderBlobs
from stagepost.broker import Broker
from stagepost.brokers.direct import DirectBroker
from stagepost.bus import Bus, Committed
from stagepost.buses.memory import MemoryBus
from stagepost.buses.postgres import PostgresBus
from stagepost.client import Client
from stagepost.clock import Clock, SystemClock
from stagepost.errors import StoreRefused
from stagepost.executor import Executor
from stagepost.learning import Learner
from stagepost.limiter import Limiter
from stagepost.limiters.memory import MemoryLimiter
from stagepost.limiters.postgres import PostgresLimiter
from stagepost.limiting import Limiting
from stagepost.maintenance.families import Families
from stagepost.maintenance.housekeeping import Housekeeping
from stagepost.maintenance.limit_waker import LimitWaker
from stagepost.maintenance.mass_changer import MassChanger
from stagepost.maintenance.planner import Planner
from stagepost.maintenance.pruner import Pruner
from stagepost.maintenance.rescuer import Rescuer
from stagepost.maintenance.scheduler import Scheduler
from stagepost.maintenance.sweeper import Sweeper
from stagepost.maintenance.versions import VersionWatch
from stagepost.masking import masked
from stagepost.notifier import Notifier
from stagepost.part import EVERYTHING, Part
from stagepost.registry import App
from stagepost.settings import Settings
from stagepost.store import Store
from stagepost.stores.postgres import PostgresStore
from stagepost.stores.sqlite import SqliteStore
from stagepost.tasks import app as built_in
from stagepost.worker import Worker, WorkerOptions

_log = logging.getLogger("stagepost")

Choice = TypeVar("Choice")

_BEGIN_ANEW: Final = 1.0  # seconds before a loop that has failed is begun anew

Ring = Callable[[Committed], None]


async def _sqlite(settings: Settings, clock: Clock, ring: Ring) -> Store:
    return SqliteStore(settings.folder, clock, ring, max_queued=_max_queued(settings))


async def _postgres(settings: Settings, clock: Clock, ring: Ring) -> Store:
    return await PostgresStore.open(settings.store, clock, ring, max_queued=_max_queued(settings))


async def _memory(_settings: Settings, _parts: Collection[Part]) -> Bus:
    return MemoryBus()


def _max_queued(settings: Settings) -> int | None:
    return settings.limits.queued_a_tenant or None


async def _postgres_bus(settings: Settings, parts: Collection[Part]) -> Bus:
    # Text is for those who watch, and they are where the API is.
    return await PostgresBus.open(
        settings.bus_address, text=Part.API in parts, setting=settings.bus_setting
    )


async def _memory_limiter(_settings: Settings, clock: Clock) -> Limiter:
    return MemoryLimiter(clock)


async def _postgres_limiter(settings: Settings, clock: Clock) -> Limiter:
    return await PostgresLimiter.open(
        settings.limiter_address, clock, lease=settings.lease, setting=settings.limiter_setting
    )


_STORES: Final[dict[str, Callable[[Settings, Clock, Ring], Awaitable[Store]]]] = {
    "sqlite": _sqlite,
    "postgresql": _postgres,
}
_BROKERS: Final[dict[str, Callable[[], Broker]]] = {"direct": DirectBroker}
_BUSES: Final[dict[str, Callable[[Settings, Collection[Part]], Awaitable[Bus]]]] = {
    "memory": _memory,
    "postgresql": _postgres_bus,
}
_LIMITERS: Final[dict[str, Callable[[Settings, Clock], Awaitable[Limiter]]]] = {
    "memory": _memory_limiter,
    "postgresql": _postgres_limiter,
}


@dataclass(frozen=True, slots=True)
class Engine:
    """All of a process's engine; of the parts that are not in `parts` nothing runs."""

    settings: Settings
    app: App
    parts: Collection[Part]
    clock: Clock
    store: Store
    broker: Broker
    bus: Bus
    limiting: Limiting
    blobs: Blobs
    notifier: Notifier
    client: Client
    worker: Worker
    learner: Learner


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
    return Housekeeping(store, clock, pruner, Sweeper(store, engine.blobs, clock))


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
    broker = _chosen("STAGEPOST_BROKER", _BROKERS, settings.broker)()
    open_bus = _chosen("STAGEPOST_BUS", _BUSES, _scheme(settings.bus_address))
    open_limiter = _chosen("STAGEPOST_LIMITER", _LIMITERS, _scheme(settings.limiter_address))
    open_store = _chosen("STAGEPOST_STORE", _STORES, settings.store_scheme)
    bus = await open_bus(settings, parts)
    opened.push_async_callback(bus.close)
    store = await open_store(settings, clock, bus.ring)
    opened.push_async_callback(store.close)
    limiter = await open_limiter(settings, clock)
    opened.push_async_callback(limiter.close)
    limiting = Limiting(limiter, store, settings.shared_limits, clock)
    blobs = FolderBlobs(settings.blob_folder)
    opened.push_async_callback(blobs.close)
    opened.push_async_callback(broker.close)
    notifier = Notifier(store, bus)
    client = Client(
        app=app, store=store, broker=broker, blobs=blobs, notifier=notifier, lanes=settings.lanes
    )
    learner = Learner(store, clock)
    executor = Executor(app, store, blobs, bus, learner, settings.lanes, limiting)
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
        blobs,
        notifier,
        client,
        worker,
        learner,
    )


def _scheme(address: str) -> str:
    return address.partition(":")[0]


def _worker_options(settings: Settings) -> WorkerOptions:
    return WorkerOptions(
        lanes=settings.lanes,
        slots=settings.concurrency,
        heartbeat=settings.heartbeat,
        drain_grace=settings.drain_grace,
        cancel_grace=settings.cancel_grace,
        stall_after=settings.stall_after,
        version=version("stagepost"),
    )


def _chosen(name: str, choices: Mapping[str, Choice], wanted: str) -> Choice:
    try:
        return choices[wanted]
    except KeyError:
        known = ", ".join(choices)
        raise StoreRefused(
            f'{name} is "{masked(wanted)}"; this version has {known}: unset {name}, or set it to '
            "one of these."
        ) from None


def registered(settings: Settings) -> App:
    """The built-in task types, and those of the App that the settings name.

    Raises ValueError or TypeError with the remedy.
    """
    app = App()
    app.include(built_in)
    if settings.app:
        app.include(load_app(settings.app))
    return app


def check_lanes(app: App, settings: Settings) -> None:
    """Every submit of a type whose lane nobody serves would fail. Raises ValueError.

    A built-in type only warns: lanes may be meant for others alone.
    """
    for name, task_type in app.types.items():
        lane = task_type.lane
        if lane in settings.lanes:
            continue
        lanes = ",".join(f"{known}:{weight}" for known, weight in settings.lanes.items())
        told = (
            f'The task type "{name}" goes to the lane "{lane}", which is none of STAGEPOST_LANES; '
            f"add it (STAGEPOST_LANES={lanes},{lane}:1), or give the type a lane of these."
        )
        if name not in built_in.types:
            raise ValueError(told)
        _log.warning("%s", told)


def load_app(reference: str) -> App:
    """The App that `module:name` names. Raises ValueError or TypeError with the remedy."""
    module_name, _, attribute = reference.partition(":")
    if not module_name or not attribute:
        raise ValueError(
            f'--app is "{reference}"; write it as module:name, such as "my.tasks:app".'
        )
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except Exception as error:  # a module may raise anything when it is imported
        _log.debug("the app can't be loaded", exc_info=True)
        raise ValueError(f'--app "{reference}" can\'t be loaded: {_where(error)}.') from error
    if not isinstance(found, App):
        raise TypeError(f'--app "{reference}" is no stagepost.App.')
    return found


def _where(error: Exception) -> str:
    text = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(".")
    if isinstance(error, SyntaxError):
        return text  # it names the place itself
    theirs = [frame for frame in traceback.extract_tb(error.__traceback__) if not _ours(frame)]
    return f"{text} ({theirs[-1].filename}, line {theirs[-1].lineno})" if theirs else text


def _ours(frame: traceback.FrameSummary) -> bool:
    # What the module did wrong is often noticed in here, or while it is imported.
    name = frame.filename
    inside = Path(name).is_relative_to(Path(__file__).parent)
    return inside or name == importlib.__file__ or name.startswith("<")
