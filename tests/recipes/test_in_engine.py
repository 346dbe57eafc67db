"""Every recipe in a whole embedded engine."""

import asyncio
from collections import Counter
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from engine_kit.engine import finished, reached, running, until
from examples import approval, chain, chord, group, outside, pipeline, saga
from recipes.conftest import LANES
from stagepost import App, Caller
from stagepost.records import Filter, Scope
from stagepost.rules import RuleKind
from stagepost.task import Status, Task
from stagepost.wiring import Engine


def engine_of(app: App) -> AbstractAsyncContextManager[Engine]:
    return running(app, Path("data"), lanes=LANES)


async def result(engine: Engine, task_id: str) -> Any:
    view = await finished(engine, task_id)
    assert view.task.status is Status.COMPLETED, view.task.error_message
    return await engine.client.result(view)


async def run(engine: Engine, name: str, value: Any) -> Any:
    return await result(engine, (await engine.client.submit(name, value)).task_id)


async def only(engine: Engine, name: str, *statuses: Status) -> Task:
    """The one task of a type, once it has such a status."""
    async with asyncio.timeout(30):
        while True:
            found = await engine.store.find(Scope(None), Filter(statuses, type=name))
            if found:
                (task,) = found
                return task
            await asyncio.sleep(0.02)


def counted() -> Counter[str]:
    """How often each service was called."""
    return Counter(line.split()[0] for line in outside.calls())


async def test_a_chain_calls_each_model_once() -> None:
    async with engine_of(chain.app) as engine:
        answer = await run(engine, "answer-letter", {"text": "My invoice is wrong"})
    assert answer["topic"] == "invoice"
    assert answer["text"].startswith("Thank you for your 4 words.")
    assert counted() == {"small-model": 1, "search": 1, "large-model": 1}


async def test_a_group_tells_of_each_input_alone() -> None:
    async with engine_of(group.app) as engine:
        wanted = {"text": "Hello", "languages": ["de", "xx", "fr", "de"]}
        answer = await run(engine, "translate-all", wanted)
    assert answer["done"] == {"de": "[Deutsch] Hello", "fr": "[Français] Hello"}
    assert list(answer["failed"]) == ["xx"]
    assert counted() == {"model": 2}


async def test_a_chord_needs_every_part_and_goes_on_with_a_mended_one() -> None:
    async with engine_of(chord.app) as engine:
        book = {"chapters": ["One. More.", " ", "Three. More."]}
        task_id = (await engine.client.submit("sum-up-book", book)).task_id
        task = (await finished(engine, task_id)).task
        assert (task.status, task.failure_kind) == (Status.DEAD_LETTER, "CHILD_FAILED")
        bad = await only(engine, "sum-up-chapter", Status.DEAD_LETTER)
        await engine.client.redrive(bad.id, input={"text": "Two. More."})
        await finished(engine, bad.id)
        await engine.client.redrive(task_id)
        assert await result(engine, task_id) == {"chapters": 3, "text": "One. Two. Three."}
    assert counted() == {"model": 3, "large-model": 1}


async def test_documents_go_through_the_stages_apart() -> None:
    async with engine_of(pipeline.app) as engine:
        names = [f"scan-{n}" for n in range(6)]
        ids = [(await engine.client.submit("ingest", {"document": n})).task_id for n in names]
        places = [(await result(engine, task_id))["place"] for task_id in ids]
        assert places == [f"{name}#4" for name in names]
        tasks = await engine.store.find(Scope(None), Filter(limit=100))
    assert Counter((task.type, task.lane) for task in tasks) == {
        ("ingest", "interactive"): 6, ("ocr", "ocr"): 6, ("embed", "embed"): 6,
        ("index", "index"): 6,
    }  # fmt: skip
    assert counted() == {"ocr": 6, "embed": 6, "index": 6}


async def test_a_paused_stage_holds_up_only_what_comes_to_it() -> None:
    async with engine_of(pipeline.app) as engine:
        await engine.client.submit("ingest", {"document": "one"})
        await only(engine, "ingest", Status.COMPLETED)
        await engine.store.rules.pause(RuleKind.LANE, "embed", paused=True)
        task_id = (await engine.client.submit("ingest", {"document": "two"})).task_id
        await only(engine, "embed", Status.QUEUED)
        assert counted() == {"ocr": 2, "embed": 1, "index": 1}
        await engine.store.rules.pause(RuleKind.LANE, "embed", paused=False)
        await result(engine, task_id)


async def decide(engine: Engine, task_id: str, number: int, user: str, **said: Any) -> None:
    caller = Caller("local", user)
    await engine.client.signal(task_id, f"decide-{number}", said, caller=caller)


async def test_a_letter_is_sent_when_its_reviewer_says_so() -> None:
    async with engine_of(approval.app) as engine:
        asked = {"about": "the delay", "reviewer": "ann"}
        task_id = (await engine.client.submit("write-letter", asked)).task_id
        await reached(engine, task_id, Status.WAITING)
        # Two clicks on the first draft decide nothing about the second.
        await decide(engine, task_id, 1, "ann", ok=False, why="be kinder")
        await decide(engine, task_id, 1, "ann", ok=True)
        await until(lambda: counted()["chat"] == 2)
        await reached(engine, task_id, Status.WAITING)
        assert counted()["mail"] == 0
        await decide(engine, task_id, 2, "ann", ok=True)
        ending = await result(engine, task_id)
    assert ending["sent"]
    assert ending["text"].endswith("Considering: be kinder")
    assert counted() == {"model": 2, "chat": 2, "mail": 1}


async def publication(engine: Engine, **asked: Any) -> str:
    return (await engine.client.submit("publish", {"document": "d1", **asked})).task_id


UNDONE = [f"{part} undo d1" for part in reversed(saga.PARTS)]


def undone() -> list[str]:
    return [line for line in outside.calls() if " undo " in line]


async def test_a_saga_that_succeeds_undoes_nothing() -> None:
    async with engine_of(saga.app) as engine:
        assert (await result(engine, await publication(engine)))["end"] == "published"
        withdrawn = await run(engine, "withdraw", {"document": "d1"})
        assert withdrawn["end"] == "published"
    assert undone() == []


@pytest.mark.parametrize("broken", saga.PARTS)
async def test_a_saga_is_undone_once_a_part_has_failed_for_good(broken: str) -> None:
    async with engine_of(saga.app) as engine:
        ending = await result(engine, await publication(engine, broken=broken))
        assert ending["end"] == "withdrawn"
        assert broken in ending["why"]
        assert undone() == UNDONE
        assert outside.calls().count(f"{broken} do d1") == 2
        # The dead part is sent back by somebody who does not know: it is refused.
        dead = await only(engine, "do-part", Status.DEAD_LETTER)
        mended = {"document": "d1", "part": broken, "broken": ""}
        await engine.client.redrive(dead.id, input=mended)
        view = await finished(engine, dead.id)
        assert (view.task.status, view.task.failure_kind) == (Status.DEAD_LETTER, "INVALID_INPUT")


async def test_a_part_that_is_cancelled_before_it_runs_has_failed() -> None:
    async with engine_of(saga.app) as engine:
        await engine.store.rules.pause(RuleKind.TYPE, "do-part", paused=True)
        task_id = await publication(engine)
        await engine.client.cancel((await only(engine, "do-part", Status.QUEUED)).id)
        ending = await result(engine, task_id)
    assert ending["end"] == "withdrawn"
    assert "CANCELLED" in ending["why"]
    assert undone() == UNDONE


async def test_a_part_whose_call_flies_when_it_is_cancelled_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outside, "SECONDS", 0.3)
    async with engine_of(saga.app) as engine:
        task_id = await publication(engine)
        await until(lambda: outside.calls() == ["budget do d1"])
        await engine.client.cancel((await only(engine, "do-part", Status.RUNNING)).id)
        assert (await result(engine, task_id))["end"] == "published"


async def test_a_withdrawal_in_the_middle_stops_the_saga(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside, "SECONDS", 0.2)
    async with engine_of(saga.app) as engine:
        task_id = await publication(engine)
        await only(engine, "do-part", Status.RUNNING)
        assert (await run(engine, "withdraw", {"document": "d1"}))["end"] == "withdrawn"
        assert (await result(engine, task_id))["end"] == "withdrawn"
    # Once by the person's task, and once by the saga's own, which begins when its parts have ended.
    assert sorted(undone()) == sorted(2 * UNDONE)
    assert " undo " in outside.calls()[-1]


async def test_a_cancel_at_the_door_leaves_no_half(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside, "SECONDS", 0.1)
    async with engine_of(saga.app) as engine:
        task_id = await publication(engine)
        await only(engine, "do-part", Status.RUNNING)
        await engine.client.cancel(task_id)
        await reached(engine, task_id, Status.CANCELLED)
        whole = await only(engine, "publication", Status.COMPLETED)
        assert (await result(engine, whole.id))["end"] == "published"
    assert undone() == []


async def test_who_cancels_the_saga_itself_withdraws_by_hand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outside, "SECONDS", 0.3)
    async with engine_of(saga.app) as engine:
        task_id = await publication(engine)
        await only(engine, "do-part", Status.RUNNING)
        whole = await only(engine, "publication")
        await engine.client.cancel(whole.id)
        assert (await finished(engine, task_id)).task.failure_kind == "CHILD_FAILED"
        await finished(engine, (await only(engine, "do-part")).id)
        assert undone() == []
        assert (await run(engine, "withdraw", {"document": "d1"}))["end"] == "withdrawn"
    assert undone() == UNDONE
