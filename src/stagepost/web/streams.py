"""All open streams of a process: how many there may be, and what ends them from outside."""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from stagepost.errors import StoreUnavailable
from stagepost.settings import Limits
from stagepost.web.keyring import Keyring
from stagepost.web.metrics import Metrics
from stagepost.web.problems import Kind, Problem

_log = logging.getLogger("stagepost.web")

_LOOK: Final = 0.9  # seconds between two looks at the keys of open streams


class Endable(Protocol):
    """An open stream."""

    def end(self) -> None:
        """Finish politely, soon."""
        ...


class Streams:
    """Admits streams within the limits. `run` is its loop; all of it lives in one event loop."""

    def __init__(
        self, limits: Limits, keyring: Keyring, metrics: Metrics, draining: asyncio.Event
    ) -> None:
        self._limits = limits
        self._keyring = keyring
        self._metrics = metrics
        self._draining = draining
        self._open: dict[Endable, str | None] = {}
        self._by_tenant: Counter[str] = Counter()
        self._by_task: Counter[str] = Counter()
        metrics.streams_from(self._open.__len__)

    @contextmanager
    def admitted(
        self, stream: Endable, *, tenant: str, task_id: str, key_hash: str | None
    ) -> Iterator[None]:
        """Count a stream while it is open. Raises Problem when there are too many."""
        self._check(tenant, task_id)
        self._open[stream] = key_hash
        self._by_tenant[tenant] += 1
        self._by_task[task_id] += 1
        try:
            yield
        finally:
            del self._open[stream]
            _less(self._by_tenant, tenant)
            _less(self._by_task, task_id)

    async def run(self) -> None:
        """End the streams of revoked keys, and all when the process drains; until cancelled."""
        while not await self._drained():
            hashes = {key_hash for key_hash in self._open.values() if key_hash is not None}
            if hashes:
                await self._end_revoked(hashes)
        self._end(list(self._open))

    async def _drained(self) -> bool:
        try:
            async with asyncio.timeout(_LOOK):
                return await self._draining.wait()
        except TimeoutError:
            return False

    async def _end_revoked(self, hashes: set[str]) -> None:
        try:
            gone = hashes - await self._keyring.live()
        except StoreUnavailable as error:
            _log.warning("the keys of open streams can't be checked: %s", error)
            return
        self._end([stream for stream, key_hash in self._open.items() if key_hash in gone])

    @staticmethod
    def _end(streams: list[Endable]) -> None:
        for stream in streams:
            stream.end()

    def _check(self, tenant: str, task_id: str) -> None:
        if self._draining.is_set():
            raise Problem(Kind.UNAVAILABLE, "The server is stopping; come back in a moment.")
        limits = self._limits
        for count, most, of in (
            (len(self._open), limits.streams, "this server"),
            (self._by_tenant[tenant], limits.streams_a_tenant, "this tenant"),
            (self._by_task[task_id], limits.streams_a_task, "this task"),
        ):
            if count >= most:
                self._metrics.stream_refused()
                raise Problem(
                    Kind.TOO_MANY,
                    f"There are {most} open streams of {of}, which is the most; "
                    "close some, or poll the status.",
                )


def _less(counter: Counter[str], key: str) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]
