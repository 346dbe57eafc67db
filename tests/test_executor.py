"""One claim to its outcome: every end of a handler, in the loop and in children."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from engine_kit.engine import ALL, alive, events, finished, kinds, lines, reached, running, until
from engine_kit.handlers import app
from stagepost.options import Options
from stagepost.task import Status

DEAD = Status.DEAD_LETTER


ENDS = [
    ("invalid", "INVALID_INPUT", 1, "the file is empty"),
    ("policy", "CONTENT_POLICY", 1, "not this"),
    ("changed", "CODE_CHANGED", 1, "other"),
    ("overloaded", "OVERLOADED", 2, "busy"),
    ("server", "SERVER_ERROR", 2, "broken"),
    ("timeout", "TIMEOUT", 2, ""),
    ("bug", "BUG", 2, "ValueError"),
    ("exit", "BUG", 2, "SystemExit"),
    ("interrupt", "BUG", 2, "KeyboardInterrupt"),
    ("branch-exit", "BUG", 2, "SystemExit"),
    ("cancelled", "BUG", 2, "CancelledError"),
    ("generator-exit", "BUG", 2, "GeneratorExit"),
    ("group", "INVALID_INPUT", 1, "from within a group"),
    ("unserialisable", "BUG", 2, "TypeError"),
    ("huge", "BUG", 2, "ValueError"),
]


async def test_each_failure_is_told_and_tried_again_as_its_kind_says(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        neighbour = await engine.client.submit("wait", {"log": str(tmp_path / "log")})
        ids = [(await engine.client.submit("fail", {"how": end[0]})).task_id for end in ENDS]
        for task_id, (how, kind, attempts, message) in zip(ids, ENDS, strict=True):
            task = (await finished(engine, task_id)).task
            assert (how, task.status, task.failure_kind, task.attempt) == (
                *(how, DEAD, kind, attempts),
            )
            assert message in (task.error_message or "")
            assert "secret" not in (task.error_message or "")
            history = await engine.store.failures(task_id)
            assert [(record.attempt, record.kind) for record in history] == [
                (number + 1, kind) for number in range(attempts)
            ]
            ends = [k for k in await kinds(engine, task_id) if k in {"retrying", "failed"}]
            assert ends == ["retrying"] * (attempts - 1) + ["failed"]
        other = (await engine.store.get(neighbour.task_id, ALL)).task
        assert (other.status, other.attempt) == (Status.RUNNING, 1), "neighbours do not notice"
        assert not engine.worker.stuck


async def test_a_failure_with_broken_text_is_still_settled(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        task_id = (await engine.client.submit("fail", {"how": "broken-text"})).task_id
        assert (await finished(engine, task_id)).task.status is DEAD


async def test_a_result_is_kept_whole_also_when_it_is_large(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        for how, expected in (("plain", "plain"), ("large", "x" * 200_000)):
            task_id = (await engine.client.submit("fail", {"how": how})).task_id
            view = await finished(engine, task_id)
            assert await engine.client.result(view) == expected
            assert view.result is not None
            assert (view.result.blob is not None) == (how == "large")


async def test_a_rate_limit_parks_without_spending_an_attempt_or_holding_a_worker(
    tmp_path: Path,
) -> None:
    async with running(app, tmp_path, concurrency=1) as engine:
        limited = await engine.client.submit("limited", {"log": str(tmp_path / "log")})
        await reached(engine, limited.task_id, Status.WAITING)
        other = await finished(engine, (await engine.client.submit("plain", {"n": 1})).task_id)
        assert other.task.status is Status.COMPLETED
        view = await finished(engine, limited.task_id)
        assert view.task.attempt == 1
        assert lines(tmp_path / "log") == ["attempt 1"] * 3
        assert (await kinds(engine, limited.task_id)).count("waiting") == 2
        assert not await engine.store.failures(limited.task_id)


async def test_sync_and_cpu_handlers_run_in_processes_that_are_used_again(tmp_path: Path) -> None:
    async with running(app, tmp_path, concurrency=1) as engine:
        pids = set()
        for type_name in ("sync", "cpu", "sync"):
            submitted = await engine.client.submit(type_name, {"log": str(tmp_path / "log")})
            pids.add(await engine.client.result(await finished(engine, submitted.task_id)))
        assert len(pids) == 1
        assert os.getpid() not in pids
    assert not any(alive(pid) for pid in pids)


async def test_a_sync_handler_nests_steps_in_a_map(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        submitted = await engine.client.submit(
            "sync", {"how": "nested", "log": str(tmp_path / "log")}
        )
        view = await finished(engine, submitted.task_id)
        assert await engine.client.result(view) == [1, 2, 3, 4, 5, 6, 7, 8]
        paths = {step.path for step in await engine.store.steps(submitted.task_id)}
        assert paths == {f"outer[{n}]" for n in range(8)} | {f"outer[{n}]/inner" for n in range(8)}


async def test_cpu_steps_run_in_as_many_processes_as_there_are_cores(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        submitted = await engine.client.submit("cpu-steps", {"how": "pids"})
        pids = set(await engine.client.result(await finished(engine, submitted.task_id)))
        assert os.getpid() not in pids
        assert 1 <= len(pids) <= (os.cpu_count() or 1)


CHILDREN = [
    ("sync", "kill", "WORKER_LOST", "lost"),
    ("sync", "_exit", "WORKER_LOST", "lost"),
    ("sync", "exit", "BUG", "RuntimeError"),
    ("sync", "bug", "BUG", "ValueError"),
    ("sync", "invalid", "INVALID_INPUT", "the file is empty"),
    ("sync", "huge", "BUG", "ValueError"),
    ("cpu-steps", "kill", "WORKER_LOST", "lost"),
    ("cpu-steps", "hang", "TIMEOUT", ""),
    ("cpu-steps", "answer", "BUG", "TypeError"),
    ("cpu-steps", "lambda", "BUG", "ValueError"),
    ("cpu-steps", "lock", "BUG", "RuntimeError"),
    ("cpu-steps", "one", "BUG", "RuntimeError"),
]


async def test_whatever_happens_in_a_child_harms_only_its_own_task(tmp_path: Path) -> None:
    async with running(app, tmp_path, concurrency=4) as engine:
        neighbour = await engine.client.submit("wait", {"log": str(tmp_path / "other")})
        await reached(engine, neighbour.task_id, Status.RUNNING)
        asks = [(end[0], {"how": end[1], "log": str(tmp_path / "log")}) for end in CHILDREN]
        ids = [(await engine.client.submit(*ask)).task_id for ask in asks]
        for task_id, (_, how, kind, message) in zip(ids, CHILDREN, strict=True):
            task = (await finished(engine, task_id)).task
            assert (how, task.status, task.failure_kind) == (how, DEAD, kind)
            assert message in (task.error_message or "")
            assert task.attempt == (1 if kind == "INVALID_INPUT" else 2)
        other = (await engine.store.get(neighbour.task_id, ALL)).task
        assert (other.status, other.attempt, other.lost_claims) == (Status.RUNNING, 1, 0)


async def test_an_exception_from_a_child_says_where_it_was_raised(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        task_id = (await engine.client.submit("cpu-steps", {"how": "lock"})).task_id
        await finished(engine, task_id)
        trace = (await engine.store.failures(task_id))[0].trace
        assert "fail_oddly" in trace


async def test_a_killed_child_is_tried_again_in_another(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with running(app, tmp_path) as engine:
        submitted = await engine.client.submit("sync", {"how": "kill-once", "log": str(log)})
        view = await finished(engine, submitted.task_id)
        assert (view.task.status, view.task.attempt) == (Status.COMPLETED, 2)
        first, second = (line.split()[0] for line in lines(log))
        assert first != second


async def test_a_killed_child_that_had_saved_something_spends_no_attempt(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with running(app, tmp_path) as engine:
        submitted = await engine.client.submit("sync", {"how": "kill-after-step", "log": str(log)})
        view = await finished(engine, submitted.task_id)
        assert (view.task.status, view.task.attempt) == (Status.COMPLETED, 1)
        assert len(lines(log)) == 2
        reasons = [
            e.data["reason"] for e in await events(engine, submitted.task_id) if e.kind == "queued"
        ]
        assert reasons == ["submitted", "rescued"]


async def test_a_hung_child_is_killed_at_the_time_out(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with running(app, tmp_path) as engine:
        submitted = await engine.client.submit("sync-hang", {"log": str(log)})
        view = await finished(engine, submitted.task_id)
        assert (view.task.status, view.task.failure_kind) == (DEAD, "TIMEOUT")
        pid = int(lines(log)[0])
        await until(lambda: not alive(pid))
        assert not engine.worker.stuck


async def test_a_child_that_dies_while_idle_is_nobodys_fault(tmp_path: Path) -> None:
    async with running(app, tmp_path, concurrency=1) as engine:

        async def pid() -> Any:
            submitted = await engine.client.submit("sync", {"log": str(tmp_path / "log")})
            view = await finished(engine, submitted.task_id)
            assert (view.task.status, view.task.attempt) == (Status.COMPLETED, 1)
            return await engine.client.result(view)

        first = await pid()
        os.kill(first, signal.SIGKILL)
        await until(lambda: not alive(first))
        assert await pid() != first


async def test_a_task_whose_worker_died_runs_alone_in_a_process(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with running(app, tmp_path) as engine:
        submitted = await engine.client.submit("suspect", {"log": str(log)})
        await until(lambda: lines(log))
        await engine.store.rescue(older_than=-1.0)  # as if this worker had fallen silent
        view = await finished(engine, submitted.task_id)
        assert (view.task.status, view.task.attempt) == (Status.COMPLETED, 2)
        here, child = (int(line) for line in lines(log))
        assert here == os.getpid() != child
        assert await engine.client.result(view) == child


async def test_a_suspect_that_no_child_can_find_runs_here(tmp_path: Path) -> None:
    app_here = type(app)()
    log = tmp_path / "log"

    @app_here.task("local")
    async def local(ctx: Any, request: dict[str, str]) -> int:
        with log.open("a") as file:
            file.write("began\n")
        if len(lines(log)) == 1:
            await asyncio.sleep(60)
        return os.getpid()

    async with running(app_here, tmp_path) as engine:
        submitted = await engine.client.submit("local", {})
        await until(lambda: lines(log))
        await engine.store.rescue(older_than=-1.0)
        view = await finished(engine, submitted.task_id)
        assert await engine.client.result(view) == os.getpid()


async def test_an_attempt_over_its_time_out_is_tried_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with running(app, tmp_path) as engine:
        submitted = await engine.client.submit("brief", {"log": str(log)})
        view = await finished(engine, submitted.task_id)
        assert (view.task.status, view.task.failure_kind) == (DEAD, "TIMEOUT")
        assert lines(log) == ["began 1", "began 2"]


async def test_a_running_task_past_its_deadline_is_a_dead_letter(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with running(app, tmp_path) as engine:
        soon = engine.clock.now() + 700
        submitted = await engine.client.submit(
            "steps", {"log": str(log), "n": 1000}, options=Options(deadline=soon)
        )
        view = await finished(engine, submitted.task_id)
        assert (view.task.status, view.task.failure_kind) == (DEAD, "DEADLINE")
        assert view.task.attempt == 1
        saved = len(await engine.store.steps(submitted.task_id))
        assert saved == len(lines(log)), "the step in flight was finished and saved"


async def test_the_engines_file_work_waits_for_no_thread_of_a_handler(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with running(app, tmp_path) as engine:
        busy = await engine.client.submit("busy-threads", {"log": str(log)})
        await reached(engine, busy.task_id, Status.RUNNING)
        large = await engine.client.submit("fail", {"how": "large"})
        assert (await finished(engine, large.task_id)).task.status is Status.COMPLETED
        hung = await engine.client.submit("sync-hang", {"log": str(tmp_path / "hung")})
        assert (await finished(engine, hung.task_id)).task.failure_kind == "TIMEOUT"
        assert (await engine.store.get(busy.task_id, ALL)).task.status is Status.RUNNING
        log.touch()
        assert (await finished(engine, busy.task_id)).task.status is Status.COMPLETED


async def test_a_thread_that_hangs_holds_up_neither_its_task_nor_the_end(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        submitted = await engine.client.submit("hung-thread", {"log": str(tmp_path / "log")})
        view = await finished(engine, submitted.task_id)
        assert view.task.failure_kind == "TIMEOUT"


async def test_strays_of_a_handler_that_returned_write_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with running(app, tmp_path) as engine:
        submitted = await engine.client.submit("stray", {"log": str(log)})
        view = await finished(engine, submitted.task_id)
        assert view.task.status is Status.COMPLETED
        await until(lambda: len(lines(log)) == 3)
        assert set(lines(log)) == {"The handler of this task has e"}
        assert engine.bus.kept(submitted.task_id) is None
        assert (await kinds(engine, submitted.task_id))[-1] == "completed"


async def test_a_stop_that_comes_before_the_child_has_begun_is_not_lost(tmp_path: Path) -> None:
    async with running(app, tmp_path, drain_grace=10.0) as engine:
        submitted = [
            await engine.client.submit("sync-steps", {"log": str(tmp_path / "log"), "n": 500})
            for _ in range(4)
        ]
        for one in submitted:
            await reached(engine, one.task_id, Status.RUNNING)
        # Their children are still importing what they need.
        for one in submitted:
            await engine.client.cancel(one.task_id)
        for one in submitted:
            assert (await finished(engine, one.task_id)).task.status is Status.CANCELLED
        assert not engine.worker.stuck


async def test_a_sync_handler_reads_its_file_and_saves_another(tmp_path: Path) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"hello"

    async with running(app, tmp_path) as engine:
        upload = await engine.client.upload("a.txt", "text/plain", chunks(), limit=100)
        submitted = await engine.client.submit(
            "sync-file", {"file": upload.upload_id}, uploads=[upload]
        )
        view = await finished(engine, submitted.task_id)
        assert await engine.client.result(view) == "hello"
        artifact = (await engine.store.artifacts(submitted.task_id))[0]
        assert await engine.blobs.get(artifact.blob) == b"hello"


async def test_a_handler_in_a_child_sees_the_version_of_its_task(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        submitted = await engine.client.submit("sync-version", {})
        view = await finished(engine, submitted.task_id)
        assert view.result is not None
        assert (view.result.text, view.task.code_version) == ("3", 3)


async def test_a_task_of_a_foreign_version_is_never_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(app, tmp_path) as engine:
        take = engine.store.claim

        async def mistaken(*args: Any, **kwargs: Any) -> Any:
            return [claim._replace(code_version=2) for claim in await take(*args, **kwargs)]

        monkeypatch.setattr(engine.store, "claim", mistaken)
        submitted = await engine.client.submit("sync-version", {})
        task = (await finished(engine, submitted.task_id)).task
    assert (task.status, task.failure_kind, task.attempt) == (DEAD, "CODE_CHANGED", 1)
    assert "version 2 of sync-version" in (task.error_message or "")
