"""Children through the whole engine: started once, waited for without a worker, told on."""

from pathlib import Path
from typing import Any

import pytest

from engine_kit.engine import ALL, finished, kinds, lines, reached, running
from engine_kit.families import app
from stagepost import children
from stagepost.batch import Page
from stagepost.child_pages import ChildPages
from stagepost.journal import NewChildren
from stagepost.records import Filter, Scope
from stagepost.task import Status
from stagepost.wiring import Engine

DEAD = Status.DEAD_LETTER


async def ended(engine: Engine, name: str, **asked: Any) -> Any:
    """What a task of this type comes to."""
    submitted = await engine.client.submit(name, asked)
    view = await finished(engine, submitted.task_id)
    assert view.task.status is Status.COMPLETED, view.task.error_message
    return await engine.client.result(view)


async def family(engine: Engine, parent_id: str) -> list[Any]:
    """A task's children."""
    tasks = await engine.store.find(Scope(None), Filter(limit=1_000))
    return [task for task in reversed(tasks) if task.parent_id == parent_id]


async def test_a_child_is_waited_for_without_a_worker_and_started_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with running(app, tmp_path / "data", concurrency=1) as engine:
        submitted = await engine.client.submit("one", {"n": 3, "log": str(log)})
        view = await finished(engine, submitted.task_id)
        assert await engine.client.result(view) == {"first": 6, "second": 12}
        assert len(await family(engine, submitted.task_id)) == 2
        waits = ["waiting", "queued", "started"]
        assert await kinds(engine, submitted.task_id) == [
            "queued", "started", *waits, *waits, "completed",
        ]  # fmt: skip
    assert lines(log) == ["begun"] * 3


async def test_a_failed_child_fails_its_parent_which_may_catch_it(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        caught = await ended(engine, "catching", n=-1)
        assert (caught["kind"], caught["status"]) == ("INVALID_INPUT", "DEAD_LETTER")
        assert "-1 is below zero" in caught["text"]
        submitted = await engine.client.submit("many", {"numbers": [1, -2, 3]})
        task = (await finished(engine, submitted.task_id)).task
        assert (task.status, task.failure_kind) == (DEAD, "CHILD_FAILED")
        assert "-2 is below zero" in (task.error_message or "")


async def test_a_batch_answers_in_input_order(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        assert await ended(engine, "many", numbers=[3, 1, 2]) == [6, 2, 4]
        collected = await ended(engine, "many", numbers=[1, -1, 2], how="collect")
        assert collected == [
            ["COMPLETED", 2, None], ["DEAD_LETTER", None, "INVALID_INPUT"], ["COMPLETED", 4, None],
        ]  # fmt: skip
        assert await ended(engine, "strange", how="empty") == []


async def test_a_batch_of_several_pages_starts_each_child_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with running(app, tmp_path / "data", concurrency=64) as engine:
        numbers = list(range(2_500))
        asked = {"numbers": numbers, "log": str(log), "how": "collect"}
        submitted = await engine.client.submit("many", asked)
        view = await finished(engine, submitted.task_id)
        found = await engine.client.result(view)
        assert [result for _, result, _ in found] == [2 * n for n in numbers]
    assert sorted(map(int, lines(log))) == numbers


async def test_a_page_is_bounded_by_number_and_by_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []
    page = ChildPages.page

    async def seen(pages: ChildPages, tenant: str, asked: NewChildren) -> Page:
        begun.append(asked.first)
        return await page(pages, tenant, asked)

    monkeypatch.setattr(ChildPages, "page", seen)
    monkeypatch.setattr(children, "PAGE", 4)
    # Two of {"log":"","n":0}, but not one and a larger one.
    monkeypatch.setattr(children, "PAGE_BYTES", 35)
    async with running(app, tmp_path) as engine:
        numbers = [1, 2, 1_000_000, 4, 5, 6, 7, 8, 9, 10, 11]
        assert await ended(engine, "many", numbers=numbers) == [2 * n for n in numbers]
        # Every fourth begins one as well: a batch that was begun in pages of that many goes on.
        assert begun == [0, 2, 3, 4, 6, 8, 10]


async def test_children_are_waited_for_beside_steps(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        assert await ended(engine, "beside", numbers=[1, 2, 3]) == [2, 4, 6]
        assert await ended(engine, "mapped", numbers=[1, 2, 3]) == [3, 5, 7]


async def test_sync_handlers_have_children_as_well(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        assert await ended(engine, "blocking", numbers=[4, 5]) == [2, 8, 10]


async def test_a_cancel_reaches_children_that_were_spawned_and_waited_for(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        asked = {"numbers": [600, 601], "how": "wait"}
        submitted = await engine.client.submit("spawning", asked)
        await reached(engine, submitted.task_id, Status.WAITING)
        children = await family(engine, submitted.task_id)
        assert len(children) == 3
        for child in children:
            await reached(engine, child.id, Status.RUNNING)
        await engine.client.cancel(submitted.task_id)
        for child in children:
            await reached(engine, child.id, Status.CANCELLED)


async def test_spawned_children_go_on_without_their_parent(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        ids = await ended(engine, "spawning", numbers=[1])
        view = await finished(engine, ids[0])
        assert view.task.status is Status.COMPLETED


async def test_detached_children_outlive_a_cancel(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        ids = await ended(engine, "spawning", numbers=[1], how="detached")
        (child,) = [await engine.store.get(task_id, ALL) for task_id in ids]
        assert child.task.parent_id is not None


@pytest.mark.parametrize("how", ["type", "lane", "input", "size"])
async def test_a_child_that_can_not_be_is_a_fault_of_the_handler(tmp_path: Path, how: str) -> None:
    async with running(app, tmp_path) as engine:
        submitted = await engine.client.submit("strange", {"how": how})
        task = (await finished(engine, submitted.task_id)).task
        assert (task.status, task.failure_kind) == (DEAD, "BUG")
        assert await family(engine, submitted.task_id) == []


async def test_other_inputs_than_before_are_found_out(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with running(app, tmp_path / "data", concurrency=1) as engine:
        submitted = await engine.client.submit("changing", {"n": 1, "log": str(log)})
        task = (await finished(engine, submitted.task_id)).task
        assert (task.status, task.failure_kind) == (DEAD, "CODE_CHANGED")


async def test_a_redriven_parent_takes_the_new_results_of_its_dead_children(
    tmp_path: Path,
) -> None:
    async with running(app, tmp_path) as engine:
        submitted = await engine.client.submit("many", {"numbers": [1, -2]})
        await finished(engine, submitted.task_id)
        good, bad = await family(engine, submitted.task_id)
        assert (good.status, bad.status) == (Status.COMPLETED, DEAD)
        await engine.client.redrive(bad.id, input={"n": 5})
        await finished(engine, bad.id)
        await engine.client.redrive(submitted.task_id)
        view = await finished(engine, submitted.task_id)
        assert await engine.client.result(view) == [2, 10]


async def test_a_batch_that_stopped_goes_on_with_its_further_pages(tmp_path: Path) -> None:
    async with running(app, tmp_path, concurrency=64) as engine:
        numbers = [-5, *range(1_200)]
        submitted = await engine.client.submit("many", {"numbers": numbers})
        task = (await finished(engine, submitted.task_id)).task
        assert (task.status, task.failure_kind) == (DEAD, "CHILD_FAILED")
        (batch,) = await engine.store.children.batches(submitted.task_id)
        (bad,) = await engine.store.children.results(batch.id, -1, 1)
        await engine.client.redrive(bad.task_id, input={"n": 5})
        await finished(engine, bad.task_id)
        await engine.client.redrive(submitted.task_id)
        view = await finished(engine, submitted.task_id)
        assert await engine.client.result(view) == [10, *(2 * n for n in range(1_200))]
        (batch,) = await engine.store.children.batches(submitted.task_id)
        assert (batch.made, batch.left, batch.failed) == (1_201, 0, 0)


async def test_a_parents_progress_follows_its_children(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        submitted = await engine.client.submit(
            "many", {"numbers": list(range(40)), "how": "collect"}
        )
        await finished(engine, submitted.task_id)
        found = await engine.store.events(submitted.task_id, 0, 1_000)
        told = [event.data["progress"] for event in found if event.kind == "progress"]
        assert told == sorted(told)
        assert all(percent <= 80 for percent in told)


async def test_a_restart_in_the_middle_goes_on_with_the_same_children(tmp_path: Path) -> None:
    async with running(app, tmp_path) as engine:
        asked = {"numbers": [1, 1, 1, 1], "how": "wait"}
        submitted = await engine.client.submit("spawning", asked)
        await reached(engine, submitted.task_id, Status.WAITING)
        before = [child.id for child in await family(engine, submitted.task_id)]
    async with running(app, tmp_path) as engine:
        assert [child.id for child in await family(engine, submitted.task_id)] == before
        await engine.client.cancel(submitted.task_id)
        await reached(engine, before[-1], Status.CANCELLED)
