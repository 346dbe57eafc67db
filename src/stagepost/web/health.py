"""Is the process alive, can it serve, and what does it count."""

import asyncio
import logging
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from starlette.responses import Response

from stagepost.errors import LimiterUnavailable, Retryable, StagepostError, StoreUnavailable
from stagepost.rules import RuleKind
from stagepost.web.answers import Operation, answer, reads
from stagepost.web.fleet_schemas import CheckResult, Liveness, Readiness
from stagepost.web.metrics import MEDIA_TYPE, Metrics
from stagepost.web.model_limits import model_limits
from stagepost.web.parts import Check, Parts

_log = logging.getLogger("stagepost.web")

_PATIENCE: Final = 2.0  # seconds for one check
_FRESH: Final = 1.0  # seconds for which an answer is repeated, so that asking often costs nothing
_DISK_LOW: Final = 512 * 1024 * 1024
_DISK_LEAST: Final = 64 * 1024 * 1024


class HealthRoutes:
    """/healthz, /readyz, /metrics."""

    def __init__(self, parts: Parts, metrics: Metrics) -> None:
        self._parts = parts
        self._metrics = metrics
        self._checks: Mapping[str, Check] = {
            "store": self._store,
            "disk": self._disk,
            "draining": self._draining,
            **parts.checks,
        }
        self._asking = asyncio.Lock()
        self._last: tuple[float, Readiness] | None = None

    def operations(self) -> Sequence[Operation]:
        """The routes."""
        return [
            reads("/healthz", self.alive, Liveness),
            Operation(
                method="GET",
                path="/readyz",
                endpoint=self.ready,
                answers={200: Readiness, 503: Readiness},
            ),
            Operation(
                method="GET",
                path="/metrics",
                endpoint=self.metrics,
                answers={200: str},
                media_type="text/plain",
            ),
        ]

    async def alive(self) -> Response:
        """Is the process alive: its event loop answers."""
        return answer(Liveness(status="ok"))

    async def ready(self) -> Response:
        """Can the process serve; names what is down or degraded. 503 only when it is down."""
        async with self._asking:
            now = self._parts.clock.monotonic()
            if self._last is None or now - self._last[0] >= _FRESH:
                self._last = (now, await self._readiness())
            readiness = self._last[1]
        if readiness["status"] == "down":
            return answer(readiness, 503, {"Retry-After": "2"})
        return answer(readiness)

    async def metrics(self) -> Response:
        """Counts and gauges for Prometheus; docs/metrics.md names them."""
        store = self._parts.store
        try:
            lanes = await store.lanes(list(self._parts.settings.lanes))
            rules = await store.rules.find(RuleKind.LANE)
            paused = {rule.name for rule in rules if rule.paused}
            now = self._parts.clock.now()
            workers, stamped = await store.workers(), await store.stamped()
            self._metrics.gauges(lanes, workers, paused, stamped, now)
            self._metrics.schedules(await store.schedules.standing())
            self._metrics.calls.unknown(await store.calls.unknown_by_type())
        except StoreUnavailable:
            self._metrics.store_down()
        if self._parts.asking is not None:
            self._metrics.calls.breakers(self._parts.asking.states())
        await self._limits()
        return Response(self._metrics.text(), headers={"Content-Type": MEDIA_TYPE})

    async def _limits(self) -> None:
        limiting = self._parts.limiting
        limits = [rule.limit for rule in (await limiting.rules()).values()]
        limits += [each.limit for each in model_limits(self._parts.models)]
        try:
            self._metrics.limits(await limiting.limiter.state(limits))
        except LimiterUnavailable:
            self._metrics.limits(None)

    async def _readiness(self) -> Readiness:
        found = await asyncio.gather(*map(_result, self._checks.values()))
        checks = dict(zip(self._checks, found, strict=True))
        states = {result["status"] for result in checks.values()}
        if "down" in states:
            return Readiness(status="down", checks=checks)
        return Readiness(status="degraded" if "degraded" in states else "ok", checks=checks)

    async def _store(self) -> None:
        # StoreUnavailable is Retryable, which would say "degraded".
        try:
            await self._parts.store.ping()
        except StoreUnavailable as error:
            raise StagepostError(str(error)) from error

    async def _disk(self) -> None:
        settings = self._parts.settings
        folder, of = (
            (settings.folder, "data folder")
            if settings.embedded
            else (settings.blob_folder, "folder of blobs")
        )
        try:
            free = await asyncio.to_thread(_free_bytes, folder)
        except OSError as error:
            raise StagepostError(f"The {of} can't be read ({error.strerror}).") from error
        text = f"{free // (1024 * 1024)} MiB are free on the disk of the {of}."
        if free < _DISK_LEAST:
            raise StagepostError(text)
        if free < _DISK_LOW:
            raise Retryable(text)

    async def _draining(self) -> None:
        if self._parts.draining.is_set():
            raise StagepostError("The process is stopping.")


async def _result(check: Check) -> CheckResult:
    try:
        async with asyncio.timeout(_PATIENCE):
            await check()
    except TimeoutError:
        return CheckResult(status="down", detail=f"No answer within {_PATIENCE:.0f} s.")
    except Retryable as error:
        return CheckResult(status="degraded", detail=str(error))
    except StagepostError as error:
        return CheckResult(status="down", detail=str(error))
    except Exception as error:  # noqa: BLE001  # a check may raise anything
        _log.exception("a readiness check failed")
        return CheckResult(status="down", detail=f"The check failed ({type(error).__name__}).")
    return CheckResult(status="ok", detail=None)


def _free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free
