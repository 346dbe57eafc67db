"""Stores do in bulk what `lifecycle` says of one task: histories in any order, compared throughout.

`STAGEPOST_EXAMPLES=50` makes fifty times as many histories; `make model` looks for new ones.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import note as note_it
from hypothesis import strategies as st

from stagepost.mass import Kind
from stagepost.quota import Quota
from stagepost.records import Idempotency, Resume
from stagepost.signals import NewWait
from stagepost.task import Status
from support.borders import borders_hold
from support.crashes import Crash, crash_sqlite, kill_postgres
from support.faults import VERBS, Fault, When
from support.healing import heal
from support.kept_connections import KeptConnections
from support.leftovers import none_left
from support.model_families import Families
from support.postgres_worlds import PostgresWorlds
from support.quick import quick_folder
from support.tasks import going_on, outcomes, succeeded
from support.twins import Cause, Twins, step
from support.world import Opener, a_world, note, open_sqlite


class StoreKind(NamedTuple):
    """A store, how it crashes, and what the model has to know of it.

    `kept` is how many connections wait for the next world.
    """

    open: Opener
    crash: Crash
    looks_commit: bool
    kept: Callable[[], int] = lambda: 0


@contextmanager
def on_sqlite(_: asyncio.Runner, __: pytest.FixtureRequest) -> Iterator[StoreKind]:
    """Stores in folders."""
    yield StoreKind(open_sqlite, crash_sqlite, looks_commit=False)


@contextmanager
def on_postgres(runner: asyncio.Runner, request: pytest.FixtureRequest) -> Iterator[StoreKind]:
    """Stores on this test run's server; a crash ends all that a store is at."""
    worlds: PostgresWorlds = request.getfixturevalue("postgres_worlds")
    kept = KeptConnections(request.getfixturevalue("monkeypatch"))
    beside = worlds.in_one_loop()
    runner.run(beside.__aenter__())
    try:
        yield StoreKind(
            worlds.open, kill_postgres(worlds, kept), looks_commit=True, kept=lambda: kept.many
        )
    finally:
        runner.run(kept.close())
        runner.run(beside.__aexit__(None, None, None))


STORES = {"sqlite": on_sqlite, "postgres": on_postgres}


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """All histories live in its event loop, one after the other."""
    with asyncio.Runner() as runner:
        runner.get_loop()
        yield runner


@pytest.fixture(params=STORES)
def tested(runner: asyncio.Runner, request: pytest.FixtureRequest) -> Iterator[StoreKind]:
    with STORES[request.param](runner, request) as kind:
        yield kind


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
        "user": st.just("bob"),
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


def _cause(
    weight: int, name: str, *arguments: st.SearchStrategy[Any]
) -> tuple[int, st.SearchStrategy[Cause]]:
    """A cause, and how often it comes."""
    return weight, st.builds(Cause, st.just(name), st.tuples(*arguments))


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
).map(lambda ways: tuple(sorted(ways)))
_percent = st.none() | st.integers(0, 100)
_weighted = [
    _cause(4, "submit", st.integers(1, 2), _tasks | st.just({})),
    _cause(2, "submit", st.integers(1, 2), _bursts),
    _cause(3, "claim", st.integers(0, 2), st.integers(1, 4)),
    _cause(
        2,
        "come_too_late",
        _which,
        st.lists(_late_ones, min_size=2, max_size=6),
        st.integers(1, 3),
    ),
    _cause(10, "go_on", _which),
    _cause(6, "settle", _which, st.lists(going_on, min_size=1, max_size=3), _percent),
    _cause(3, "settle", _which, st.just([succeeded()] * 2), _percent),
    _cause(2, "settle", _which, st.lists(outcomes, min_size=1, max_size=2), _percent),
    _cause(6, "save", _which, st.lists(_steps, min_size=1, max_size=4)),
    _cause(4, "note", _which, st.lists(_notes, min_size=1, max_size=3)),
    _cause(2, "sleep", _which, st.integers(1, 3), st.sampled_from([0.5, 30.0])),
    _cause(6, "listen", _which, _waits, st.booleans()),
    _cause(2, "park", _which),
    _cause(5, "send", _which, *_signals),
    _cause(6, "parent", _which, st.sampled_from("ab"), st.integers(1, 3), _ways),
    _cause(8, "family", _which, st.sampled_from("ab"), _childrens_ends, _ways),
    _cause(2, "free", _which),
    _cause(6, "redrive", _which, _resumes, st.integers(1, 3)),
    _cause(2, "rescue", st.sampled_from([0.0, 0.0, 15.0])),
    _cause(3, "cancel", _which, st.sampled_from(["ada", "bob"])),
    _cause(1, "discard", _which),
    _cause(2, "change_many", st.sampled_from(Kind)),
    _cause(1, "prune", st.sampled_from([0.0, 10.0])),
    _cause(1, "prune_events", st.sampled_from([0.0, 10.0])),
    _cause(1, "erase", _which),
    _cause(1, "restart"),
    _cause(1, "crash"),
    _cause(1, "expire"),
    _cause(1, "release"),
    _cause(1, "beat", st.integers(0, 2)),
    _cause(1, "time_passes", st.sampled_from([0.001, 1.0, 20.0])),
    _cause(1, "reach_deadline", _which, st.integers(0, 1)),
]
# Alternatives nested in alternatives would be flattened, and their weights with them.
_causes = [cause for weight, cause in _weighted for _ in range(weight)]
causes = st.integers(0, len(_causes) - 1).flatmap(_causes.__getitem__)
histories = st.lists(causes, min_size=15, max_size=40)


def faults_of(history: list[Cause], seed: int) -> list[Fault]:
    """The crashes in a history; other ones in each.

    Of seven histories Hypothesis makes six from the first by copying parts of it about, and would
    do the same with crashes, so that most of them would come around the same few calls.
    """
    luck = Random(repr((history, seed)))  # the same in every run
    return [
        Fault(
            luck.choice(VERBS),
            luck.choice([*When]),
            luck.choice([0.0, 0.0005, 0.002, 0.01]),
            luck.randrange(3),
        )
        for _ in range(luck.randint(0, 3))
    ]


_MOMENT = 0.002  # seconds

HISTORIES = 5 * settings.get_profile("stagepost").max_examples


@pytest.mark.timeout(600 + HISTORIES)
def test_a_store_and_the_model_agree_after_every_verb(
    tested: StoreKind, runner: asyncio.Runner
) -> None:
    seen = Counter[str]()
    hit = Counter[tuple[str, When]]()

    def note_what(twins: Twins) -> None:
        model = twins.model
        seen.update(what_became_of(model.families))
        seen.update(task.status for task in model.tasks.values())
        seen["gone"] += len(model.gone)
        seen.update(event.kind for events in model.events.values() for event in events)
        hit.update(twins.alike.hit)

    async def live(history: list[Cause], faults: list[Fault]) -> None:
        with quick_folder() as folder:
            async with a_world(tested.open, folder / "data") as world:
                twins = Twins(world, tested.crash, looks_commit=tested.looks_commit)
                await world.store.quotas.set(Quota("bolt", 1_000))
                await twins.run(history, faults)
                await borders_hold(world.store, twins.model.tasks.values(), twins.model.gone)
                note_what(twins)
                await heal(twins)

    @settings(max_examples=HISTORIES)
    @given(histories, st.integers(0, 9))
    def run(history: list[Cause], seed: int) -> None:
        faults = faults_of(history, seed)
        note_it(repr((history, faults)))
        with none_left(tested.kept, lambda: runner.run(asyncio.sleep(_MOMENT))):
            runner.run(live(history, faults))

    run()
    # The histories and the crashes go everywhere, or the agreement means little.
    assert len({name for name, _ in hit}) > len(VERBS) // 2, hit
    assert min(sum(hit[each] for each in hit if each[1] is when) for when in When) > 20, hit
    assert min(seen[status] for status in Status) >= 1, seen
    assert min(seen[kind] for kind in ("batch", "one settled", "one failed", "over")) > 2, seen
    assert min(seen[kind] for kind in ("redriven", "retrying", "waiting", "step", "gone")) > 5, seen
