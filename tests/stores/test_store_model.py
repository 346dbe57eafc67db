"""Stores do in bulk what `lifecycle` says of one task: histories in any order, compared throughout.

`STAGEPOST_EXAMPLES=50` makes fifty times as many histories; `make model` looks for new ones.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import note as note_it
from hypothesis import strategies as st

from stagepost.mass import Kind
from stagepost.records import Idempotency, Resume
from stagepost.signals import NewWait
from stagepost.task import Status
from support.crashes import Crash, crash_postgres, crash_sqlite
from support.model_families import Families
from support.postgres_worlds import PostgresWorlds
from support.quick import quick_folder
from support.tasks import going_on, outcomes, succeeded
from support.twins import Cause, Twins, step
from support.world import Opener, a_world, note, open_sqlite


def postgres_of(request: pytest.FixtureRequest) -> tuple[Opener, Crash]:
    """Stores on this test run's server; a crash ends their connections under their feet."""
    worlds: PostgresWorlds = request.getfixturevalue("postgres_worlds")
    return worlds.open, crash_postgres(worlds)


class StoreKind(NamedTuple):
    """A store, how it crashes, and what the model has to know of it."""

    open: Opener
    crash: Crash
    looks_commit: bool


STORES: dict[str, Callable[[pytest.FixtureRequest], StoreKind]] = {
    "sqlite": lambda _: StoreKind(open_sqlite, crash_sqlite, looks_commit=False),
    "postgres": lambda request: StoreKind(*postgres_of(request), looks_commit=True),
}


@pytest.fixture(params=STORES)
def tested(request: pytest.FixtureRequest) -> StoreKind:
    return STORES[request.param](request)


def what_became_of(families: Families) -> Iterator[str]:
    """One word for each thing that a batch has come to."""
    for family in families.all.values():
        yield "batch"
        if family.batch.left < family.batch.made:
            yield "one settled"
        if family.batch.failed:
            yield "one failed"
        if family.batch.is_over(stop=False):
            yield "over"


_which = st.integers(0, 7)
_notes = st.builds(
    note,
    st.integers(-5, 120),
    st.sampled_from(["", "Reading"]),
    st.sampled_from([None, "", "read"]),
)
_steps = st.tuples(
    st.builds(step, st.integers(0, 9), st.sampled_from(["1", '"é"'])), st.none() | _notes
)
_tasks = st.fixed_dictionaries(
    {},
    optional={
        "lane": st.just("batch"),
        "tenant": st.sampled_from(["acme", "bolt", "crane"]),
        "type": st.sampled_from(["review", "translate"]),
        "concurrency_key": st.sampled_from(["k", "l"]),
        "priority": st.sampled_from([-5, 5, 3_600]),
        "delay": st.sampled_from([0.5, 60.0]),
        "deadline": st.sampled_from([1_000, 100_000]),
        "max_attempts": st.integers(1, 2),
        "input_size": st.sampled_from([1, 20_000]),
        "ttl": st.just(90.0),
        "unique_key": st.sampled_from(["a", "b"]),
        "idempotency": st.builds(
            Idempotency, st.just("submit"), st.sampled_from("ab"), st.sampled_from("xy")
        ),
    },
)
_late_ones = st.fixed_dictionaries(
    {"tenant": st.sampled_from(["acme", "bolt", "crane"])},
    optional={
        "deadline": st.just(1_000),
        "lane": st.just("batch"),
        "concurrency_key": st.sampled_from(["k", "l"]),
        "priority": st.just(5),
    },
)
_bursts = st.fixed_dictionaries(
    {
        "unique_key": st.sampled_from(["a", "b"]),
        "debounce": st.just(True),
        "delay": st.sampled_from([0.5, 60.0]),
        "input": st.sampled_from(['"first"', '"second"']),
    },
    optional={"ttl": st.just(90.0), "deadline": st.just(100_000)},
)
_resumes = st.one_of(
    st.just(Resume()),
    st.just(Resume(fresh=True)),
    st.just(Resume(input='"corrected"')),
    st.integers(0, 9).map(lambda n: Resume(from_step=f"step#{n}")),
    st.sampled_from(["step", "nowhere"]).map(lambda name: Resume(from_step=name)),
)


def _cause(name: str, *arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Cause]:
    return st.builds(Cause, st.just(name), st.tuples(*arguments))


_waits = st.builds(
    lambda name, number, timeout, approvers: NewWait(
        f"wait_for {name}#{number}", f"wait_for {name}", "hash", name, timeout, approvers
    ),
    st.sampled_from(["go", "stop"]),
    st.integers(1, 4),
    st.sampled_from([None, None, 5.0, 60.0]),
    st.sampled_from([None, ("ada",), ("bob", "read")]),
)
_signals = (st.sampled_from(["go", "stop"]), st.sampled_from(["ada", "bob"]), st.integers(1, 2))

_childrens_ends = st.lists(outcomes | st.just(succeeded()), min_size=1, max_size=3)
_ways = st.frozensets(
    st.sampled_from(["open", "detached", "late", "waits", "stop", "goes on"]), max_size=2
)
_percent = st.none() | st.integers(0, 100)
_weighted = [
    (4, _cause("submit", st.integers(1, 2), _tasks | st.just({}))),
    (2, _cause("submit", st.integers(1, 2), _bursts)),
    (3, _cause("claim", st.integers(0, 2), st.integers(1, 4))),
    (
        2,
        _cause(
            "come_too_late",
            _which,
            st.lists(_late_ones, min_size=2, max_size=6),
            st.integers(1, 3),
        ),
    ),
    (10, _cause("go_on", _which)),
    (6, _cause("settle", _which, st.lists(going_on, min_size=1, max_size=3), _percent)),
    (3, _cause("settle", _which, st.just([succeeded()] * 2), _percent)),
    (2, _cause("settle", _which, st.lists(outcomes, min_size=1, max_size=2), _percent)),
    (6, _cause("save", _which, st.lists(_steps, min_size=1, max_size=4))),
    (4, _cause("note", _which, st.lists(_notes, min_size=1, max_size=3))),
    (2, _cause("sleep", _which, st.integers(1, 3), st.sampled_from([0.5, 30.0]))),
    (6, _cause("listen", _which, _waits, st.booleans())),
    (2, _cause("park", _which)),
    (5, _cause("send", _which, *_signals)),
    (6, _cause("parent", _which, st.sampled_from("ab"), st.integers(1, 3), _ways)),
    (8, _cause("family", _which, st.sampled_from("ab"), _childrens_ends, _ways)),
    (2, _cause("free", _which)),
    (6, _cause("redrive", _which, _resumes, st.integers(1, 3))),
    (2, _cause("rescue", st.sampled_from([0.0, 0.0, 15.0]))),
    (3, _cause("cancel", _which, st.sampled_from(["ada", "bob"]))),
    (1, _cause("discard", _which)),
    (2, _cause("change_many", st.sampled_from(Kind))),
    (1, _cause("prune", st.sampled_from([0.0, 10.0]))),
    (1, _cause("prune_events", st.sampled_from([0.0, 10.0]))),
    (1, _cause("erase", _which)),
    (1, _cause("restart")),
    (1, _cause("crash")),
    (1, _cause("expire")),
    (1, _cause("release")),
    (1, _cause("beat", st.integers(0, 2))),
    (1, _cause("time_passes", st.sampled_from([0.001, 1.0, 20.0]))),
    (1, _cause("reach_deadline", _which, st.integers(0, 1))),
]
# Alternatives nested in alternatives would be flattened, and their weights with them.
_causes = [cause for weight, cause in _weighted for _ in range(weight)]
causes = st.integers(0, len(_causes) - 1).flatmap(_causes.__getitem__)
histories = st.lists(causes, min_size=15, max_size=40)


HISTORIES = 5 * settings.get_profile("stagepost").max_examples


@pytest.mark.timeout(600 + HISTORIES)
def test_a_store_and_the_model_agree_after_every_verb(tested: StoreKind) -> None:
    seen = Counter[str]()

    async def live(history: list[Cause]) -> None:
        with quick_folder() as folder:
            async with a_world(tested.open, folder / "data") as world:
                twins = Twins(world, tested.crash, looks_commit=tested.looks_commit)
                await twins.run(history)
        seen.update(what_became_of(twins.model.families))
        seen.update(task.status for task in twins.model.tasks.values())
        seen["gone"] += len(twins.model.gone)
        seen.update(event.kind for events in twins.model.events.values() for event in events)

    @settings(max_examples=HISTORIES)
    @given(histories)
    def run(history: list[Cause]) -> None:
        note_it(repr(history))
        asyncio.run(live(history))

    run()
    # The histories go everywhere, or the agreement means little.
    assert min(seen[status] for status in Status) >= 1, seen
    assert min(seen[kind] for kind in ("batch", "one settled", "one failed", "over")) > 2, seen
    assert min(seen[kind] for kind in ("redriven", "retrying", "waiting", "step", "gone")) > 5, seen
