"""The test kit: one attempt in memory."""

from pathlib import Path

import pytest

from engine_kit.kit_app import app
from stagepost import App, Context
from stagepost.errors import Invalid, UnknownType
from stagepost.outcome import Failed, Succeeded, Waiting
from stagepost.testing import SavedFile, always_replay, run_task


async def test_a_run_tells_all_that_the_handler_did() -> None:
    run = await run_task(app, "tell", {"words": ["a", "b"]})
    assert isinstance(run.outcome, Succeeded)
    assert run.result == {"count": 2}
    assert run.error is None
    assert list(run.checkpoints) == list(run.ran) == list(run.asked) == ["each[0]", "each[1]"]
    assert [(note.percent, note.message) for note in run.progress] == [(5, "1/2"), (10, "2/2")]
    assert run.text == {"main": "hello"}
    assert run.artifacts == {"words.txt": SavedFile("text/plain", b"a b")}


async def test_a_batch_tells_its_last_message() -> None:
    families = App()

    @families.task("one")
    async def one(_ctx: Context, number: int) -> int:
        return number

    @families.task("all")
    async def every(ctx: Context, numbers: list[int]) -> list[int]:
        return await ctx.batch("one", numbers, progress=(10, 90))

    run = await run_task(families, "all", [1, 2, 3])
    assert run.result == [1, 2, 3]
    assert [(note.percent, note.message) for note in run.progress] == [(90, "3 of 3")]


async def test_checkpoints_are_replayed() -> None:
    first = await run_task(app, "tell", {"words": ["a", "b"]})
    again = await run_task(
        app, "tell", {"words": ["a", "b"]}, checkpoints=first.checkpoints, attempt=2
    )
    assert again.result == first.result
    assert not again.ran
    assert list(again.asked) == ["each[0]", "each[1]"]


@pytest.mark.parametrize("kind", ["bytes", "file"])
async def test_uploads_are_named_in_the_input(kind: str, tmp_path: Path) -> None:
    content = b"one two"
    if kind == "file":
        (tmp_path / "x").write_bytes(content)
    upload = content if kind == "bytes" else tmp_path / "x"
    run = await run_task(app, "read", {"file": "words.txt"}, uploads={"words.txt": upload})
    assert run.result == {"name": "words.txt", "mediaType": "text/plain", "text": "one two"}


async def test_an_upload_that_was_not_given_is_invalid_as_at_a_submit() -> None:
    with pytest.raises(Invalid, match=r"uploads=, under the name") as refused:
        await run_task(app, "read", {"file": "words.txt"})
    assert "file: Send the file" in str(refused.value)
    with pytest.raises(Invalid):
        await run_task(app, "read", {"file": "words.txt"})
    with pytest.raises(UnknownType):
        await run_task(app, "nothing")


async def test_sync_handlers_and_cpu_steps_run_too() -> None:
    run = await run_task(app, "sync", {"words": ["a"]})
    assert run.result == [1, 1]
    assert list(run.ran) == ["len", "cpu"]


@pytest.mark.parametrize(
    ("how", "attempt", "outcome", "kind"),
    [
        ("invalid", 1, Failed, "INVALID_INPUT"),
        ("bug", 1, Failed, "BUG"),
        ("bug", 4, Failed, "BUG"),
        ("limit", 1, Waiting, ""),
        ("slow", 1, Failed, "TIMEOUT"),
        ("exit", 1, Failed, "BUG"),
        ("unserialisable", 1, Failed, "BUG"),
        ("misfit", 1, Failed, "BUG"),
    ],
)
async def test_every_end_is_the_outcome_that_the_engine_would_settle(
    how: str, attempt: int, outcome: type, kind: str
) -> None:
    run = await run_task(app, "fail", {"how": how}, attempt=attempt)
    assert isinstance(run.outcome, outcome)
    assert run.error is not None
    assert run.result is None
    if isinstance(run.outcome, Failed):
        assert run.outcome.failure.kind == kind
        again = kind != "INVALID_INPUT" and attempt < 4
        assert (run.outcome.delay is not None) == again


async def test_a_handler_sees_with_which_version_the_task_was_begun() -> None:
    versioned = App()

    @versioned.task("versioned", version=3, accepts={1})
    async def handler(ctx: Context, request: int) -> int:
        return ctx.version + request

    assert (await run_task(versioned, "versioned", 10)).result == 13
    assert (await run_task(versioned, "versioned", 10, version=1)).result == 11
    assert (await always_replay(versioned, "versioned", 10, version=1)).result == 11
    with pytest.raises(ValueError, match="does not accept version 2"):
        await run_task(versioned, "versioned", 10, version=2)
