"""One process's services around the web layer, with a worker that is played by hand."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import httpx
import orjson
import uvicorn
from pydantic import BaseModel

from stagepost import App, Options, Upload
from stagepost.blobs import OFFLOAD_OVER
from stagepost.blobstores.folder import FolderBlobs
from stagepost.brokers.direct import DirectBroker
from stagepost.buses.memory import MemoryBus
from stagepost.caller import LOCAL, Caller
from stagepost.choice import LaneTurns
from stagepost.client import Client
from stagepost.clock import SystemClock
from stagepost.failure import Failure, FailureKind
from stagepost.limiters.memory import MemoryLimiter
from stagepost.limiting import Limiting
from stagepost.notifier import Notifier
from stagepost.outcome import Cancelled, Failed, Outcome, Succeeded, Waiting
from stagepost.records import (
    Artifact,
    Checkpoint,
    Claimed,
    Demand,
    ProgressNote,
    Submitted,
    WorkerRecord,
)
from stagepost.settings import Limits, Settings
from stagepost.stores.sqlite import SqliteStore
from stagepost.task import CancelRequest, Payload
from stagepost.waiting import LimitFree
from stagepost.web import Parts, create_app, server_config
from stagepost.web.keyring import api_key, new_text

Result = TypeVar("Result")

BASE = "http://127.0.0.1:8080"
API = "/api/v1"
WORKER_ID = "00000000-0000-7000-8000-000000000001"


class Echo(BaseModel):
    """An input without files."""

    text: str = ""
    number: int = 0
    words: list[str] = []
    nested: dict[str, Any] = {}


class Review(BaseModel):
    """An input with files."""

    file: Upload
    more: list[Upload] = []
    side: str = "neutral"
    pages: int | None = None


def sample_app() -> App:
    app = App()

    @app.task("echo")
    async def echo(ctx: Any, request: Echo) -> Any:
        """Answers what it was asked."""
        raise NotImplementedError

    @app.task("review", lane="batch")
    async def review(ctx: Any, request: Review) -> Any:
        """Reads files."""
        raise NotImplementedError

    return app


class Engine:
    """All of a process but its worker; `worker` plays that one."""

    def __init__(self, folder: Path, settings: Settings, app: App) -> None:
        self.clock = SystemClock()
        self.bus = MemoryBus()
        self.store = SqliteStore(folder, self.clock, self.bus.ring)
        self.blobs = FolderBlobs(folder / "blobs")
        self.notifier = Notifier(self.store, self.bus)
        self.settings = settings
        self.client = Client(
            app=app,
            store=self.store,
            broker=DirectBroker(),
            blobs=self.blobs,
            notifier=self.notifier,
            lanes=tuple(settings.lanes),
        )
        self.parts = Parts(
            settings=settings,
            app=app,
            client=self.client,
            store=self.store,
            notifier=self.notifier,
            bus=self.bus,
            limiting=Limiting(
                MemoryLimiter(self.clock), self.store, settings.shared_limits, self.clock
            ),
            blobs=self.blobs,
            clock=self.clock,
        )
        self.worker = Worker(self)

    async def submit(self, type_name: str = "echo", value: Any = None, **kind: Any) -> Submitted:
        """A task, past the web layer."""
        caller: Caller = kind.pop("caller", LOCAL)
        return await self.client.submit(
            type_name, value or {}, caller=caller, options=Options(**kind)
        )

    async def key(
        self, *roles: str, tenant: str = "acme", user: str | None = None
    ) -> dict[str, str]:
        """The header of a new API key."""
        text = new_text()
        await self.store.add_key(api_key(text, name="test", tenant=tenant, roles=roles, user=user))
        return {"Authorization": f"Bearer {text}"}


class Worker:
    """Does by hand what a worker does."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known = False

    async def claim(self) -> Claimed:
        """The next task of any lane."""
        if not self._known:
            await self.register()
        demand = Demand(WORKER_ID, 1, LaneTurns({"interactive": 8, "batch": 1}), ("echo", "review"))
        claimed = await self._engine.store.claim(demand, wait=5.0)
        return claimed[0]

    async def register(self, **changes: Any) -> None:
        """Start to live."""
        record = WorkerRecord(
            WORKER_ID, "by hand", ("interactive", "batch"), ("echo", "review"), 4, "1.2.3"
        )
        await self._engine.store.register(replace(record, **changes))
        self._known = True

    async def progress(self, task: Claimed, percent: int, message: str = "") -> None:
        await self._engine.store.progress(task.lease, ProgressNote(percent, message, "work"))

    async def step(self, task: Claimed, name: str) -> None:
        checkpoint = Checkpoint(name, name, "hash", Payload("1", 1), 5)
        await self._engine.store.checkpoint(task.lease, checkpoint)

    async def artifact(self, task: Claimed, name: str, media_type: str, content: bytes) -> None:
        key = await self._blob(content)
        artifact = Artifact(name, media_type, len(content), "0" * 64, key)
        await self._engine.store.attach(task.lease, artifact)

    async def settle(self, task: Claimed, outcome: Outcome) -> None:
        await self._engine.store.settle(task.lease, outcome)

    async def complete(self, task: Claimed, result: Any = None) -> None:
        """End it well; a large result is kept as a blob, as the executor does."""
        text = orjson.dumps(result)
        payload = Payload(text.decode(), len(text))
        if len(text) > OFFLOAD_OVER:
            payload = Payload(None, len(text), await self._blob(text))
        await self.settle(task, Succeeded(payload))

    async def bury(self, task: Claimed, kind: FailureKind = FailureKind.BUG) -> None:
        """Send it to dead letter."""
        await self.settle(task, Failed(Failure(kind, f"It is {kind}.", "Trace: secret"), None))

    async def fail(self, task: Claimed, delay: float = 60.0) -> None:
        """Fail an attempt; another one follows."""
        failure = Failure(FailureKind.SERVER_ERROR, "It did not answer.", "Trace: secret")
        await self.settle(task, Failed(failure, delay))

    async def park(self, task: Claimed, wait: Any) -> None:
        await self.settle(task, Waiting((LimitFree(wait.name, 60.0),)))

    async def obey(self, task: Claimed) -> None:
        """End it as cancelled."""
        await self.settle(task, Cancelled(CancelRequest("local")))

    async def _blob(self, content: bytes) -> str:
        upload = await self._engine.client.upload("x", "x/y", _once(content), limit=len(content))
        return upload.upload_id


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content


def settings_for(folder: Path, limits: Mapping[str, Any], **changes: Any) -> Settings:
    return Settings(data=folder, limits=replace(Limits(), **limits)).with_(**changes)


@asynccontextmanager
async def engine_in(
    folder: Path, *, limits: Mapping[str, Any] | None = None, app: App | None = None, **changes: Any
) -> AsyncIterator[Engine]:
    """A process's services, with the loop of its notifier."""
    engine = Engine(folder, settings_for(folder, limits or {}, **changes), app or sample_app())
    noticing = asyncio.create_task(engine.notifier.run(), name="notifier")
    try:
        yield engine
    finally:
        noticing.cancel()
        await asyncio.wait([noticing])
        await engine.store.close()


@asynccontextmanager
async def alive(app: Any) -> AsyncIterator[None]:
    """The application between its startup and its shutdown."""
    to_app: asyncio.Queue[Any] = asyncio.Queue()
    from_app: asyncio.Queue[Any] = asyncio.Queue()
    living = asyncio.create_task(
        app({"type": "lifespan", "asgi": {"version": "3.0"}}, to_app.get, from_app.put)
    )
    await to_app.put({"type": "lifespan.startup"})
    assert (await from_app.get())["type"] == "lifespan.startup.complete"
    try:
        yield
    finally:
        await to_app.put({"type": "lifespan.shutdown"})
        assert (await from_app.get())["type"] == "lifespan.shutdown.complete"
        await living


@asynccontextmanager
async def http(engine: Engine, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the application in this process, without a network."""
    app = create_app(engine.parts)
    async with (
        alive(app),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url=BASE, headers=headers
        ) as client,
    ):
        yield client


class Session:
    """An engine in an event loop of its own, for tests that run many examples against one."""

    def __init__(self, folder: Path) -> None:
        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()
        self.engine = self._runner.run(self._enter(engine_in(folder)))
        self.app = create_app(self.engine.parts)
        self._runner.run(self._enter(alive(self.app)))

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run one example."""
        return self._runner.run(work)

    def close(self) -> None:
        self._runner.run(self._stack.aclose())
        self._runner.close()

    async def _enter(self, context: AbstractAsyncContextManager[Result]) -> Result:
        return await self._stack.enter_async_context(context)


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        with nullcontext():
            yield


@asynccontextmanager
async def serving(engine: Engine, app: Any = None) -> AsyncIterator[str]:
    """The application on a free port of this machine; gives its address."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        config = server_config(app or create_app(engine.parts), engine.settings)
        server = _Server(config)
        running = asyncio.create_task(server.serve([listener]), name="uvicorn")
        while not server.started:
            assert not running.done(), running
            await asyncio.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            engine.parts.draining.set()
            server.should_exit = True
            await running


async def until(true: Callable[[], bool]) -> None:
    """Wait until something has become true."""
    async with asyncio.timeout(30):
        while not true():  # noqa: ASYNC110  # what is waited for has no event to wait on
            await asyncio.sleep(0.005)
