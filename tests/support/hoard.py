"""A store with its blobs, and what people, workers and the sweeper do to them.

Each cause may be cut off before or after any call that it makes of the store or the blobs, as a
crash of its process would.
"""

import asyncio
import itertools
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from stagepost.blobstores.folder import FolderBlobs
from stagepost.erasing import erase
from stagepost.errors import Conflict, NotFound, UploadSwept
from stagepost.maintenance.sweeper import Sweeper
from stagepost.outcome import Failed, Succeeded
from stagepost.records import Artifact, Claimed, Filter, Resume, UploadRecord
from stagepost.task import Payload, Status, Task
from stagepost.testing import FakeClock
from support.calls import in_blob, new_call, result
from support.tasks import failed
from support.world import DAY, EVERYBODY, World, checkpoint, new_id, new_task

REFUSALS = (Conflict, NotFound, UploadSwept)


class Cut(Exception):  # it is a crash, not an error
    """The process has died here."""


class Cutting:
    """A port behind which a process may die: at the call with the number `at`, counted from 0.

    Even numbers die before the call is made, odd ones after it was answered.
    """

    def __init__(self, port: Any, counter: "itertools.count[int]", at: int) -> None:
        self._port = port
        self._counter = counter
        self._at = at

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if name in {"retention", "mass", "calls"}:
            return Cutting(found, self._counter, self._at)
        if not asyncio.iscoroutinefunction(found):
            return found

        async def call(*arguments: Any, **named: Any) -> Any:
            number = 2 * next(self._counter)
            if number == self._at:
                raise Cut
            answer = await found(*arguments, **named)
            if number + 1 == self._at:
                raise Cut
            return answer

        return call


class Restless(FakeClock):
    """Whoever sleeps goes on at once."""

    async def sleep(self, seconds: float) -> None:
        del seconds
        await asyncio.sleep(0)


class Hoard:
    """The causes. A number picks a task or a file among those there are."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world = world
        self.folder = folder
        self.blobs = FolderBlobs(folder)
        self.store: Any = world.store
        self.port: Any = self.blobs
        self.sent: list[UploadRecord] = []
        self.claims: list[Claimed] = []

    async def run(self, cause: Callable[[], Awaitable[None]], cut_at: int | None = None) -> None:
        """Let something happen, perhaps only in part."""
        counter = itertools.count()
        at = -1 if cut_at is None else cut_at
        self.store, self.port = (
            Cutting(port, counter, at) for port in (self.world.store, self.blobs)
        )
        try:
            await cause()
        except Cut:
            pass
        except REFUSALS:
            # Somebody asked for what can't be had any more.
            pass

    # What happens

    async def keep(self) -> None:
        """A file is sent on its own."""
        record = await self._file()
        await self.store.keep_upload(record)
        self.sent.append(record)

    async def submit(self, which: int, *, fresh: bool) -> None:
        """A task whose input names a file that was sent before, one that comes with it, or both."""
        named = [await self._file()] if fresh else []
        named += await self._known(which)
        await self._submit(named)
        self.sent += named

    async def dawdle(self, which: int) -> None:
        """The same, by somebody who takes a day between the look-up of the file and the submit."""
        named = await self._known(which)
        self.pass_time(25)
        await self.sweep()
        await self._submit(named)

    async def work(self, which: int, *, well: bool) -> None:
        """A worker takes a task, makes a call, saves a step and a file, and ends it."""
        self.claims += await self.world.claim(3)
        if not self.claims:
            return
        claimed = self.claims.pop(which % len(self.claims))
        call = new_call(request=in_blob(await self._blob()))
        await self.store.calls.begin(claimed.lease, call)
        answer = in_blob(await self._blob())
        await self.store.calls.end(claimed.task_id, call.id, result(answer=answer))
        step = checkpoint(f"step#{claimed.fence}", text="")
        value = Payload(None, 9, await self._blob())
        await self.store.checkpoint(claimed.lease, step._replace(value=value))
        for _ in range(1 + which % 2):
            artifact = Artifact("report", "text/plain", 5, "sha", await self._blob())
            await self.store.attach(claimed.lease, artifact)
        end: Succeeded | Failed = failed(None)
        if well:
            end = Succeeded(Payload(None, 9, await self._blob()))
        await self.store.settle(claimed.lease, end)

    async def redrive(self, which: int, *, corrected: bool) -> None:
        """A dead letter goes back, afresh or with another input."""
        task = await self._one(which, Status.DEAD_LETTER)
        if task is None:
            return
        resume = Resume(fresh=True)
        if corrected:
            named = await self._known(which)
            resume = Resume(input=_input(named), uploads=tuple(named))
        await self.store.redrive(task.id, EVERYBODY, "ada", resume, 3)

    async def erase(self, which: int) -> None:
        """A task is erased."""
        task = await self._one(which)
        if task is not None:
            await erase(self.store, self.port, task.id, EVERYBODY, "eve")

    async def prune(self) -> None:
        """What has been over for a day goes."""
        await self.store.retention.prune_tasks("", older_than=DAY, limit=1_000)

    async def sweep(self) -> None:
        """One round of a sweeper that trusts the clock; to it every file is an old one."""
        for path in self.files():
            os.utime(path, (1, 1))
        sweeper = Sweeper(self.store, self.port, Restless())
        await sweeper._unreferenced(_yes)
        await sweeper._strangers(_yes)

    def pass_time(self, hours: int) -> None:
        """Time passes."""
        self.world.clock.advance(hours * 3_600)

    # What must hold

    async def check(self) -> None:
        """Every blob that something refers to is there, and every task can be read whole."""
        for key in await self.referenced():
            assert (await self.blobs.path(key)).exists()

    async def referenced(self) -> set[str]:
        """The keys that the tasks' inputs, steps, calls, files and results name."""
        store = self.world.store
        found: set[str] = set()
        for task in await store.find(EVERYBODY, Filter(limit=10_000)):
            view = await store.get(task.id, EVERYBODY)
            found.update(json.loads(view.input)["files"])
            found.update(artifact.blob for artifact in await store.artifacts(task.id))
            found.update(step.value.blob for step in await store.steps(task.id) if step.value.blob)
            for call in await store.calls.find(task.id, EVERYBODY, None, 1_000):
                bodies = await store.calls.bodies(task.id, call.id, EVERYBODY)
                found.update(each.blob for each in bodies if each and each.blob)
            if view.result is not None and view.result.blob is not None:
                found.add(view.result.blob)
        return found

    def files(self) -> list[Path]:
        """The blobs on the disk."""
        return sorted(self.folder.glob("??/*"))

    # How

    async def _submit(self, named: list[UploadRecord]) -> None:
        await self.store.submit(new_task(input=_input(named), uploads=tuple(named), ttl=90 * DAY))

    async def _file(self) -> UploadRecord:
        return UploadRecord(await self._blob(), "acme", "a.pdf", "application/pdf", 5, "sha")

    async def _known(self, which: int) -> list[UploadRecord]:
        if not self.sent:
            return []
        # Few, so that many tasks share them.
        among = self.sent[-2:]
        wanted = among[which % len(among)]
        return list(await self.store.uploads("acme", [wanted.upload_id]))

    async def _blob(self) -> str:
        key = new_id()
        await self.store.stage(key)
        await self.port.put(key, _bytes(), limit=10)
        return key

    async def _one(self, which: int, status: Status | None = None) -> Task | None:
        statuses = () if status is None else (status,)
        tasks = await self.world.store.find(EVERYBODY, Filter(statuses=statuses, limit=100))
        return tasks[which % len(tasks)] if tasks else None


def _input(named: list[UploadRecord]) -> str:
    return json.dumps({"files": [record.upload_id for record in named]})


async def _bytes() -> AsyncIterator[bytes]:
    yield b"bytes"


async def _yes() -> bool:
    return True
