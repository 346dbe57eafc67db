"""One thread that commits whatever gathered while it committed what came before."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import orjson
import uuid_utils

from bench.limit import schema
from stagepost.stores.sqlite.schema import migrate

QUEUE = ("interactive", "local", "noop")
"""The lane, tenant and type of all its tasks."""

Row = list[Any]
Future = asyncio.Future[None]


class Writer:
    """Submits, claims and finishes in group commits; all that follows a commit follows its fsync.

    A claim sees only tasks of earlier commits, and a finish only claims of earlier commits.
    """

    def __init__(
        self, path: Path, *, claim_most: int, committed: Callable[[list[Row], int, int], None]
    ) -> None:
        self.commits = 0
        self._worker = str(uuid_utils.uuid7())
        self._path = path
        self._claim_most = claim_most
        self._committed = committed
        self._loop = asyncio.get_running_loop()
        # Appended to by the loop, emptied by the thread: neither ever needs a lock.
        self._submits: deque[tuple[Row, Future]] = deque()
        self._finishes: deque[Row] = deque()
        self._pooled = 0
        self._idle = False
        self._stopping = False
        self._wake = threading.Event()
        #: Done when the thread has ended, with its error if it failed.
        self.ended = self._loop.run_in_executor(None, self._run)

    def submit(self, row: Row) -> Future:
        """A future that is done once the task is on disk."""
        future = self._loop.create_future()
        self._submits.append((row, future))
        if self._idle:
            self._wake.set()
        return future

    def finish(self, rows: list[Row]) -> None:
        """Put the results of claimed tasks in the next commit."""
        self._finishes.extend(rows)
        if self._idle:
            self._wake.set()

    async def close(self) -> None:
        """Return once what was handed in is on disk and the file is closed."""
        self._stopping = True
        self._wake.set()
        await self.ended

    def _run(self) -> None:
        connection = apsw.Connection(str(self._path))
        connection.execute(schema.PRAGMAS)
        migrate(connection)
        while self._gathered():
            self._commit(connection)
        connection.close()

    def _gathered(self) -> bool:
        """Wait until there is something to commit; False once there will be nothing more."""
        while not (self._submits or self._finishes or self._pooled):
            if self._stopping:
                return False
            # Announced first, looked at again after that: no wake-up can fall between.
            self._idle = True
            if not (self._submits or self._finishes):
                self._wake.wait(timeout=1)
            self._idle = False
            self._wake.clear()
        return True

    def _commit(self, connection: apsw.Connection) -> None:
        submits = _taken(self._submits)
        finishes = _taken(self._finishes)
        now = time.time_ns() // 1_000_000
        connection.execute("BEGIN IMMEDIATE")
        if finishes:
            _write(connection, schema.FINISH, {"rows": orjson.dumps(finishes).decode(), "now": now})
        claimed = self._claim(connection, now) if self._pooled else "[]"
        if submits:
            rows = orjson.dumps([row for row, _ in submits]).decode()
            _write(connection, schema.SUBMIT, {"rows": rows, "now": now})
        connection.execute("COMMIT")
        self.commits += 1
        ready = orjson.loads(claimed)
        self._pooled += len(submits) - len(ready)
        futures = [future for _, future in submits]
        self._loop.call_soon_threadsafe(self._tell, futures, ready, now, len(finishes))

    def _claim(self, connection: apsw.Connection, now: int) -> str:
        lane, tenant, type_name = QUEUE
        bindings: dict[str, Any] = {
            "lane": lane, "tenant": tenant, "type": type_name, "most": self._claim_most,
        }  # fmt: skip
        rows: str = connection.execute(schema.READY, bindings).get
        lease = str(uuid_utils.uuid7())
        bindings = {"rows": rows, "now": now, "lease": lease, "worker": self._worker}
        _write(connection, schema.CLAIM, bindings)
        return rows

    def _tell(self, futures: list[Future], claimed: list[Row], now: int, finished: int) -> None:
        """On the loop: one call for a whole commit."""
        for future in futures:
            future.set_result(None)
        self._committed(claimed, now, finished)


def _taken(queue: deque[Any]) -> list[Any]:
    return [queue.popleft() for _ in range(len(queue))]


def _write(
    connection: apsw.Connection, statements: tuple[str, ...], bindings: dict[str, Any]
) -> None:
    for statement in statements:
        connection.execute(statement, bindings)
