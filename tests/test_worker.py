"""A worker's life: drains, cancels, lost leases and handlers that do not end."""

import asyncio
import time
from collections import Counter
from pathlib import Path

import pytest

from engine_kit.engine import (
    ALL,
    LONG,
    alive,
    events,
    finished,
    kinds,
    lines,
    opener,
    reached,
    running,
    short,
    until,
)
from engine_kit.handlers import app
from stagepost import adapters, wiring
from stagepost.errors import StoreBroken, StoreUnavailable
from stagepost.executor import Executor
from stagepost.options import Options
from stagepost.outcome import Outcome, Succeeded
from stagepost.part import EVERYTHING, Part
from stagepost.records import Beat, ProgressNote
from stagepost.stores.sqlite import SqliteStore
from stagepost.task import Lease, Status
from stagepost.wiring import Engine, open_engine
from stagepost.worker import Worker


async def test_ten_drains_spend_no_attempt_and_run_no_step_twice(tmp_path: Path) -> None:
    log, task_id = tmp_path / "log", ""
    for _ in range(10):
        before = len(lines(log))
        async with running(app, tmp_path / "data") as engine:
            if not task_id:
                submitted = await engine.client.submit("steps", {"log": str(log), "n": 110})
                task_id = submitted.task_id
            await more_than(before, log)
        assert not engine.worker.stuck
    async with running(app, tmp_path / "data") as engine:
        task = (await finished(engine, task_id)).task
        assert (task.status, task.attempt) == (Status.COMPLETED, 1)
        assert Counter(lines(log)) == Counter({f"ran {n}": 1 for n in range(110)})
        reasons = [e.data["reason"] for e in await events(engine, task_id) if e.kind == "queued"]
        assert reasons == ["submitted"] + ["drained"] * 10


async def more_than(count: int, log: Path) -> None:
    await until(lambda: len(lines(log)) > count)


async def test_a_handler_that_comes_to_no_step_is_unwound_after_the_grace(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        submitted = await engine.client.submit("wait", {"log": str(tmp_path / "log")})
        await until(lambda: lines(tmp_path / "log"))
    assert not engine.worker.stuck
    async with running(type(app)(), tmp_path) as engine:
        task = (await engine.store.get(submitted.task_id, ALL)).task
        assert (task.status, task.attempt, task.lost_claims) == (Status.QUEUED, 1, 0)


async def test_a_drain_lets_a_blocking_step_in_a_child_come_to_its_checkpoint(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    async with running(app, tmp_path / "data", drain_grace=15.0) as engine:
        submitted = await engine.client.submit("sync-steps", {"log": str(log), "n": 5})
        await until(lambda: lines(log))
    assert lines(log) == ["began 0", "ended 0"]
    async with running(app, tmp_path / "data") as engine:
        view = await finished(engine, submitted.task_id)
        assert (view.task.status, view.task.attempt) == (Status.COMPLETED, 1)
    assert Counter(lines(log)).most_common(1)[0][1] == 1


async def test_cancel_ends_a_task_wherever_it_stands(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with running(app, tmp_path / "data", concurrency=1) as engine:
        submit = engine.client.submit
        retrying = (await submit("fail", {"how": "overloaded"})).task_id
        await finished(engine, retrying)
        later = (await submit("plain", {}, options=Options(delay=60))).task_id
        limited = (await submit("limited", {"log": str(log)})).task_id
        await reached(engine, limited, Status.WAITING)
        run = (await submit("wait", {"log": str(tmp_path / "wait")})).task_id
        await until(lambda: lines(tmp_path / "wait"))
        queued = (await submit("plain", {})).task_id
        for task_id in (later, limited, queued, run):
            await engine.client.cancel(task_id, reason="enough")
            task = (await finished(engine, task_id)).task
            assert task.status is Status.CANCELLED
            last = (await events(engine, task_id))[-1]
            assert (last.kind, dict(last.data)) == (
                "cancelled",
                {"by": "local", "reason": "enough"},
            )
        assert len(lines(log)) == 1
        assert not engine.worker.stuck


async def test_a_cancel_whose_bell_was_lost_is_found_when_bells_were_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(app, tmp_path / "data", heartbeat=1_000.0, lease=3_000.0) as engine:
        monkeypatch.setattr(engine.worker, "committed", lambda _news: None)
        task_id = (await engine.client.submit("wait", {"log": str(tmp_path / "wait")})).task_id
        await until(lambda: lines(tmp_path / "wait"))
        await engine.client.cancel(task_id)
        engine.worker.missed()
        assert (await finished(engine, task_id)).task.status is Status.CANCELLED


async def test_cancel_ends_a_task_between_two_attempts(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        task_id = (await engine.client.submit("suspect", {"log": str(tmp_path / "log")})).task_id
        await until(lambda: lines(tmp_path / "log"))
        await engine.store.rescue(older_than=-1.0)
        await reached(engine, task_id, Status.FAILED)
        await engine.client.cancel(task_id)
        assert (await finished(engine, task_id)).task.status is Status.CANCELLED


async def test_a_step_in_flight_is_saved_before_a_cancel_ends_the_task(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with running(app, tmp_path, cancel_grace=10.0) as engine:
        submitted = await engine.client.submit("sync-steps", {"log": str(log), "n": 50})
        await until(lambda: lines(log))
        await engine.client.cancel(submitted.task_id)
        assert (await finished(engine, submitted.task_id)).task.status is Status.CANCELLED
        assert lines(log) == ["began 0", "ended 0"]
        assert len(await engine.store.steps(submitted.task_id)) == 1


async def test_a_handler_that_ignores_cancel_is_cut_and_the_worker_replaced(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    async with running(app, tmp_path / "data") as engine:
        neighbour = await engine.client.submit("wait", {"log": str(tmp_path / "other")})
        submitted = await engine.client.submit("stubborn", {"log": str(log)})
        await until(lambda: lines(log) and lines(tmp_path / "other"))
        await engine.client.cancel(submitted.task_id)
        task = (await finished(engine, submitted.task_id)).task
        assert task.status is Status.CANCELLED
        assert engine.worker.stuck
        assert engine.worker.state == "draining"
        kept = await kinds(engine, submitted.task_id)
    async with running(type(app)(), tmp_path / "data") as engine:
        task = (await engine.store.get(neighbour.task_id, ALL)).task
        assert (task.status, task.attempt, task.lost_claims) == (Status.QUEUED, 1, 0)
        assert await kinds(engine, submitted.task_id) == kept, "nothing came after the end"


async def test_a_worker_that_was_thought_dead_drops_what_it_ran_and_begins_anew(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    async with running(app, tmp_path) as engine:
        submitted = await engine.client.submit("wait", {"log": str(log)})
        await until(lambda: lines(log))
        before = engine.worker._slots.worker_id
        assert (await engine.store.rescue(older_than=-1.0)).tasks == (submitted.task_id,)
        await until(lambda: engine.worker._slots.worker_id != before)
        await until(lambda: submitted.task_id not in engine.worker._slots.running)
        task = (await engine.store.get(submitted.task_id, ALL)).task
        assert (task.status, task.failure_kind) == (Status.FAILED, "WORKER_LOST")
        other = await engine.client.submit("plain", {"n": 1})
        assert (await finished(engine, other.task_id)).task.status is Status.COMPLETED
        assert [worker.id for worker in await engine.store.workers()] == [
            engine.worker._slots.worker_id
        ]


class Silent(SqliteStore):
    """A store that takes no heartbeat of one worker."""

    deaf_to = ""

    async def beat(self, worker_id: str, state: str) -> Beat:
        if worker_id == self.deaf_to:
            raise StoreUnavailable("not now")
        return await super().beat(worker_id, state)


async def test_a_worker_whose_lease_ran_out_is_refused_and_another_finishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(adapters.STORES, "sqlite", opener(Silent))
    log = tmp_path / "log"
    async with running(app, tmp_path / "data") as engine:
        assert isinstance(engine.store, Silent)
        submitted = await engine.client.submit("steps", {"log": str(log), "n": 80})
        await until(lambda: lines(log))
        engine.store.deaf_to = engine.worker._slots.worker_id
        first = engine.worker._slots.running[submitted.task_id]
        other = second(engine)
        working = asyncio.create_task(other.run())
        view = await finished(engine, submitted.task_id)
        assert view.task.status is Status.COMPLETED
        assert (view.task.fence, view.task.attempt) == (2, 1), "it had saved steps"
        await until(lambda: first.gate.unwinding)  # its next write was refused
        twice = [line for line, n in Counter(lines(log)).items() if n > 1]
        assert len(twice) <= 1, "only the step that was in flight when the lease ran out"
        other.drain()
        await working


def second(engine: Engine) -> Worker:
    executor = Executor(engine.app, engine.store, engine.blobs, engine.bus, engine.learner)
    options = wiring._worker_options(engine.settings)
    return Worker(engine.app, engine.store, engine.bus, executor, options)


@pytest.mark.parametrize("how", ["block", "block-in-branch"])
async def test_who_blocks_the_loop_times_out_and_neighbours_are_not_blamed(
    how: str, tmp_path: Path
) -> None:
    log, data = tmp_path / "log", tmp_path / "data"
    async with running(app, data) as engine:
        neighbour = await engine.client.submit("wait", {"log": str(tmp_path / "other")})
        brief = await engine.client.submit("brief", {"log": str(tmp_path / "brief")})
        await until(lambda: lines(tmp_path / "other") and lines(tmp_path / "brief"))
        culprit = (await engine.client.submit(how, {"log": str(log)})).task_id
        await until(lambda: lines(log))
        later = [(await engine.client.submit("plain", {})).task_id for _ in range(3)]
        await until(lambda: engine.worker.state == "stalled")
        await stalled(engine)
        task = (await finished(engine, culprit)).task
        assert (task.status, task.failure_kind) == (Status.DEAD_LETTER, "TIMEOUT")
        assert engine.worker.stuck
    async with running(type(app)(), data) as engine:
        for task_id in (neighbour.task_id, brief.task_id, *later):
            task = (await engine.store.get(task_id, ALL)).task
            assert (task.status, task.attempt, task.lost_claims) == (Status.QUEUED, 1, 0)


async def stalled(engine: Engine) -> None:
    limit = time.monotonic() + 10
    while [worker.state for worker in await engine.store.workers()] != ["stalled"]:
        assert time.monotonic() < limit
        await asyncio.sleep(0.02)


async def test_a_stray_that_blocks_the_loop_has_the_worker_replaced(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        submitted = await engine.client.submit("block-as-a-stray", {"log": str(tmp_path / "log")})
        assert (await finished(engine, submitted.task_id)).task.status is Status.COMPLETED
        await until(lambda: engine.worker.stuck)


@pytest.mark.parametrize(("type_name", "steps"), [("steps", 40), ("sync-steps", 6)])
async def test_a_worker_that_cannot_renew_its_lease_starts_no_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, type_name: str, steps: int
) -> None:
    log = tmp_path / "log"

    def began() -> Counter[str]:
        return Counter(line for line in lines(log) if not line.startswith("ended"))

    # Nobody takes its tasks back: what it holds back, it holds back by itself.
    parts = EVERYTHING - {Part.MAINTENANCE}
    async with open_engine(short(tmp_path / "data"), app, parts=parts) as engine:
        submitted = await engine.client.submit(type_name, {"log": str(log), "n": steps})
        await until(began)
        beat = engine.store.beat

        async def unheard(worker_id: str, state: str) -> Beat:
            raise StoreUnavailable("not now")

        monkeypatch.setattr(engine.store, "beat", unheard)
        await until(lambda: not engine.worker._lease.holds)
        await asyncio.sleep(0.2)  # for a step that took off before
        before = began()
        await asyncio.sleep(1)
        assert began() == before
        monkeypatch.setattr(engine.store, "beat", beat)
        assert (await finished(engine, submitted.task_id)).task.attempt == 1
    assert sum(began().values()) == len(began()) == steps


async def test_a_store_that_only_a_restart_can_mend_has_the_process_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(app, tmp_path, drain_grace=60.0) as engine:
        held = await engine.client.submit("wait", {"log": str(tmp_path / "log")})
        await reached(engine, held.task_id, Status.RUNNING)

        async def broken(worker_id: str, state: str) -> Beat:
            raise StoreBroken("The disk of the data folder failed.")

        monkeypatch.setattr(engine.store, "beat", broken)
        async with asyncio.timeout(LONG):
            await engine.worker.ended()
        assert engine.worker.stuck


async def test_a_handlers_loop_that_ends_has_the_worker_replaced(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        before = await engine.client.submit("plain", {"n": 1})
        await finished(engine, before.task_id)
        engine.worker._loop._stopping = True
        engine.worker._loop.call(engine.worker._loop._loop.stop)
        await until(lambda: engine.worker.stuck)
        other = second(engine)
        working = asyncio.create_task(other.run())
        submitted = await engine.client.submit("plain", {"n": 1})
        assert (await finished(engine, submitted.task_id)).task.status is Status.COMPLETED
        other.drain()
        await working


async def test_a_handler_that_cancels_everything_in_its_loop_ends_only_tasks(
    tmp_path: Path,
) -> None:
    async with running(app, tmp_path) as engine:
        culprit = await engine.client.submit("fail", {"how": "cancel-all"})
        view = await finished(engine, culprit.task_id)
        assert (view.task.status, view.task.failure_kind) == (Status.DEAD_LETTER, "BUG")
        after = await engine.client.submit("plain", {"n": 1})
        assert (await finished(engine, after.task_id)).task.status is Status.COMPLETED
        assert not engine.worker.stuck


class Reluctant(SqliteStore):
    """A store that refuses the first writes of each kind."""

    refusals = 2

    async def settle(
        self, lease: Lease, outcome: Outcome, note: ProgressNote | None = None
    ) -> None:
        if isinstance(outcome, Succeeded) and self.refusals:
            self.refusals -= 1
            raise StoreUnavailable("the disk is full for a moment")
        await super().settle(lease, outcome, note)


async def test_an_outcome_is_written_once_the_store_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(adapters.STORES, "sqlite", opener(Reluctant))
    async with running(app, tmp_path, concurrency=1) as engine:
        submitted = await engine.client.submit("plain", {"n": 1})
        view = await finished(engine, submitted.task_id)
        assert await engine.client.result(view) == 2
        assert (view.task.attempt, view.task.fence) == (1, 1)


async def test_progress_never_falls_across_attempts_and_replays(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        submitted = await engine.client.submit("climb", {})
        assert (await finished(engine, submitted.task_id)).task.failure_kind == "OVERLOADED"
        told = [
            event.data["progress"]
            for event in await events(engine, submitted.task_id)
            if event.kind == "progress"
        ]
        assert told == sorted(told)
        assert max(told) == 60


async def test_no_child_is_left_when_an_engine_ends_or_its_worker_is_cut(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with running(app, tmp_path) as engine:
        await engine.client.submit("sync-hang", {"log": str(log)})
        await until(lambda: lines(log))
    pid = int(lines(log)[0])
    await until(lambda: not alive(pid))


def test_a_lease_of_tests_is_longer_than_two_heartbeats(tmp_path: Path) -> None:
    settings = short(tmp_path)
    assert settings.heartbeat * 2 < settings.lease
