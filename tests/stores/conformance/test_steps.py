"""Checkpoints, progress and artifacts of a running task."""

import asyncio
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stagepost.errors import Conflict, LeaseLost, Unwritable
from stagepost.records import ProgressNote, SavedStep
from stagepost.task import Payload
from support.fences import artifact
from support.tasks import failed, succeeded
from support.world import Opener, World, a_world, checkpoint, new_id, note, payload, refused


async def test_a_checkpoint_is_kept_as_it_was(world: World) -> None:
    claimed = await world.running()
    world.clock.advance(2)
    now = world.clock.now()
    step = checkpoint("read#1", '{"pages":3}', input_hash="abc", took=1_500)
    await world.store.checkpoint(claimed.lease, step)
    assert await world.store.steps(claimed.task_id) == [
        SavedStep("read#1", "read", "abc", payload('{"pages":3}'), 1, 1, now - 1_500, now)
    ]
    assert await world.kinds(claimed.task_id) == ["queued", "started", "step"]
    assert await world.last(claimed.task_id) == {"name": "read", "path": "read#1", "state": "saved"}
    task = await world.task(claimed.task_id)
    assert (task.saved_steps, task.saved_fence, task.progressed) == (1, 1, True)


async def test_progress_goes_before_its_step(world: World) -> None:
    claimed = await world.running()
    await world.store.checkpoint(claimed.lease, checkpoint("read#1"), note(30, "Reading", "read"))
    assert await world.kinds(claimed.task_id) == ["queued", "started", "progress", "step"]
    task = await world.task(claimed.task_id)
    assert (task.progress, task.step) == (30, "Reading")


async def test_many_checkpoints_of_one_task_in_one_commit(world: World) -> None:
    claimed = await world.running()
    neighbour = await world.running()
    store = world.store
    await asyncio.gather(
        *(
            store.checkpoint(claimed.lease, checkpoint(f"map#{n}", str(n)), note(n * 10))
            for n in range(8)
        ),
        store.checkpoint(neighbour.lease, checkpoint("other#1")),
    )
    steps = await store.steps(claimed.task_id)
    assert [step.path for step in steps] == [f"map#{n}" for n in range(8)]
    assert [step.value.text for step in steps] == [str(n) for n in range(8)]
    assert await world.kinds(claimed.task_id) == ["queued", "started", *["progress", "step"] * 8]
    events = await store.events(claimed.task_id, 2, 100)
    assert [dict(event.data)["progress"] for event in events[::2]] == [n * 10 for n in range(8)]
    assert (await world.task(claimed.task_id)).saved_steps == 8
    assert await world.kinds(neighbour.task_id) == ["queued", "started", "step"]


async def test_a_path_is_saved_once(world: World) -> None:
    claimed = await world.running()
    store = world.store
    await store.checkpoint(claimed.lease, checkpoint("read#1", '"first"'))
    before = await world.task(claimed.task_id)
    refusal = await refused(store.checkpoint(claimed.lease, checkpoint("read#1", '"2"'), note(50)))
    assert not isinstance(refusal, LeaseLost)
    assert "read#1" in str(refusal)
    assert [step.value.text for step in await store.steps(claimed.task_id)] == ['"first"']
    assert await world.task(claimed.task_id) == before


async def test_of_two_checkpoints_of_one_path_in_one_commit_the_first_counts(world: World) -> None:
    claimed = await world.running()
    answers = await asyncio.gather(
        *(
            world.store.checkpoint(claimed.lease, checkpoint("read#1", str(n)), note(n))
            for n in (1, 2)
        ),
        world.store.checkpoint(claimed.lease, checkpoint("read#2")),
        return_exceptions=True,
    )
    assert [type(answer) for answer in answers] == [type(None), Conflict, type(None)]
    steps = await world.store.steps(claimed.task_id)
    assert [(step.path, step.value.text) for step in steps] == [("read#1", "1"), ("read#2", "1")]
    assert await world.kinds(claimed.task_id) == ["queued", "started", "progress", "step", "step"]


async def test_steps_of_later_claims_follow_those_of_earlier_ones(world: World) -> None:
    claimed = await world.running()
    for path in ("z#1", "a#1"):
        await world.store.checkpoint(claimed.lease, checkpoint(path))
    await world.lose()
    again = await world.reclaim(claimed.task_id)
    assert again.saved_steps == 2
    await world.store.checkpoint(again.lease, checkpoint("m#1"))
    steps = await world.store.steps(claimed.task_id)
    assert [(step.path, step.fence, step.attempt) for step in steps] == [
        ("z#1", 1, 1), ("a#1", 1, 1), ("m#1", 2, 1),
    ]  # fmt: skip


async def test_values_large_and_small_inline_and_as_blob(world: World) -> None:
    claimed = await world.running()
    store, lease = world.store, claimed.lease
    key = new_id()
    await store.stage(key)
    values = {
        "small#1": payload("1"),
        "large#1": payload('"' + "é" * 65_000 + '"'),
        "blob#1": Payload(None, 5_000_000, key),
        "null#1": payload("null"),
    }
    await asyncio.gather(
        *(store.checkpoint(lease, checkpoint(p)._replace(value=v)) for p, v in values.items())
    )
    assert {step.path: step.value for step in await store.steps(claimed.task_id)} == values


# Progress


async def test_progress_is_an_event_and_never_falls(world: World) -> None:
    claimed = await world.running()
    for percent, message, step in ((10, "Reading", "read"), (5, "", "split"), (150, "", None)):
        await world.store.progress(claimed.lease, note(percent, message, step))
    events = await world.store.events(claimed.task_id, 2, 10)
    assert [dict(event.data) for event in events] == [
        {"progress": 10, "message": "Reading", "step": "read"},
        {"progress": 10, "message": "", "step": "split"},
        {"progress": 99, "message": "", "step": None},
    ]
    task = await world.task(claimed.task_id)
    assert (task.progress, task.step) == (99, "split")


async def test_progress_stays_across_attempts(world: World) -> None:
    claimed = await world.running()
    await world.store.progress(claimed.lease, note(60))
    await world.store.settle(claimed.lease, failed(1.0))
    world.clock.advance(1)
    await world.store.release_due(10)
    again = await world.reclaim(claimed.task_id)
    assert again.progress == 60
    await world.store.progress(again.lease, note(5))
    assert (await world.task(claimed.task_id)).progress == 60


async def test_a_part_of_a_percent_is_dropped(world: World) -> None:
    claimed = await world.running()
    await world.store.progress(claimed.lease, ProgressNote(33.9, "", None))  # type: ignore[arg-type]
    assert repr((await world.task(claimed.task_id)).progress) == "33"


async def test_many_notes_of_many_tasks_in_one_commit(world: World) -> None:
    claims = [await world.running() for _ in range(4)]
    await asyncio.gather(
        *(world.store.progress(claimed.lease, note(n)) for n in range(1, 6) for claimed in claims)
    )
    for claimed in claims:
        events = await world.store.events(claimed.task_id, 2, 100)
        assert [dict(event.data)["progress"] for event in events] == [1, 2, 3, 4, 5]


# Artifacts


async def test_an_artifact_is_kept_and_one_of_its_name_replaces_it(world: World) -> None:
    claimed = await world.running()
    store = world.store
    keys = [new_id() for _ in range(3)]
    for key in keys:
        await store.stage(key)
    await store.attach(claimed.lease, artifact("b.html", keys[0]))
    await store.attach(claimed.lease, artifact("a.html", keys[1]))
    world.clock.advance(1)
    await store.attach(claimed.lease, artifact("b.html", keys[2]))
    found = await store.artifacts(claimed.task_id)
    assert [(a.name, a.blob) for a in found] == [("a.html", keys[1]), ("b.html", keys[2])]
    assert found[1].created_at == world.clock.now()
    assert (found[0].media_type, found[0].size, found[0].sha256) == ("text/html", 5, "sha")
    assert await world.kinds(claimed.task_id) == ["queued", "started"]


async def test_artifacts_outlive_the_task(world: World) -> None:
    claimed = await world.running()
    await world.store.attach(claimed.lease, artifact())
    await world.store.settle(claimed.lease, succeeded())
    assert len(await world.store.artifacts(claimed.task_id)) == 1


# Text


TEXTS = [
    "plain",
    "",
    "合同审查 – “危险”",
    "\U0001f680 rocket \U0001f468\u200d\U0001f469",
    'quote " back \\ slash / new\nline \t tab \r',
    "\x7f\x80\x9f \u2028\u2029 \ufeff \uffff",
    "'; DROP TABLE tasks; --",
    '{"json": [1, null]}',
    "null",
    "123",
    "1e5",
]


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
async def test_text_comes_back_as_it_was(world: World, text: str) -> None:
    await comes_back(world, text)


async def test_a_nul_is_kept_or_refused(world: World) -> None:
    with suppress(Unwritable):
        await comes_back(world, "nul \0 inside")


async def comes_back(world: World, text: str) -> None:
    """Every field of a task that holds text, written alone and in a batch."""
    store = world.store
    claimed = await world.running(trace_id=text, tags=(text,), input=text, tenant="a" + text)
    neighbour = await world.running()
    lease = claimed.lease
    assert (claimed.input, claimed.trace_id) == (text, text)
    await asyncio.gather(
        store.progress(lease, note(1, text, text)),
        store.checkpoint(lease, checkpoint(text, text, name=text, input_hash=text)),
        store.attach(lease, artifact(text, text)),
        store.progress(neighbour.lease, note(1)),
    )
    (step,) = await store.steps(claimed.task_id)
    assert (step.path, step.name, step.input_hash, step.value.text) == (text, text, text, text)
    (kept,) = await store.artifacts(claimed.task_id)
    assert (kept.name, kept.blob) == (text, text)
    assert (await world.task(claimed.task_id)).step == (text or None)
    events = await store.events(claimed.task_id, 2, 10)
    assert [dict(event.data) for event in events] == [
        {"progress": 1, "message": text, "step": text},
        {"name": text, "path": text, "state": "saved"},
    ]
    await store.settle(lease, succeeded(text))
    view = await world.view(claimed.task_id)
    assert (view.result, view.tags, view.input) == (succeeded(text).result, (text,), text)
    assert (await world.last(claimed.task_id))["traceId"] == text


def test_any_text_comes_back_as_it_was(
    open_store: Opener, tmp_path_factory: pytest.TempPathFactory
) -> None:
    valid = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)

    async def live(texts: list[str]) -> None:
        async with a_world(open_store, tmp_path_factory.mktemp("store") / "data") as world:
            for text in texts:
                await comes_back(world, text)

    @settings(settings.get_profile("stagepost"), max_examples=5)
    @given(st.lists(valid, min_size=5, max_size=15))
    def run(texts: list[str]) -> None:
        asyncio.run(live(texts))

    run()
