"""The test kit: a handler that comes to another end when it is replayed is found out."""

import pytest

from engine_kit.kit_app import app
from stagepost.testing import always_replay


@pytest.mark.parametrize(
    ("type_name", "given"),
    [("tell", {"words": ["a", "b", "c"]}), ("nested", {}), ("sync", {"words": ["x"]})],
)
async def test_a_steady_handler_passes(type_name: str, given: dict[str, object]) -> None:
    run = await always_replay(app, type_name, given)
    assert run.ran


async def test_a_replay_has_the_ids_of_the_first_run() -> None:
    first, again = await always_replay(app, "named", {}), await always_replay(app, "named", {})
    task, spawned, *rest = first.result
    children, told, saved = rest[:2], rest[2:4], rest[4:]
    assert told == children
    assert saved == [task, spawned, *children]
    assert len({*saved}) == 4
    assert not {*first.result} & {*again.result}


@pytest.mark.parametrize(
    ("type_name", "words"),
    [
        ("drifting-result", 'cut after the step "two".*another result: 2 instead of 1'),
        ("drifting-path", "took another path: it left out first and came to later"),
        ("drifting-arguments", "failed: CodeChanged.*other arguments"),
        ("drifting-fault", 'cut after the step "one".*failed: ValueError'),
        ("fail", "first run of fail did not succeed"),
    ],
)
async def test_a_handler_that_drifts_is_named(type_name: str, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        await always_replay(app, type_name, {"how": "bug"} if type_name == "fail" else {})


async def test_many_steps_are_cut_at_a_hundred_places() -> None:
    run = await always_replay(app, "tell", {"words": ["w"] * 250})
    assert len(run.ran) == 250
