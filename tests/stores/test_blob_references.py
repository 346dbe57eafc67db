"""Nothing that is referred to is ever swept, and what is not goes: histories with crashes in them.

`STAGEPOST_EXAMPLES=50` makes fifty times as many histories.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import note as note_it
from hypothesis import strategies as st

from support.hoard import Hoard
from support.postgres_worlds import PostgresWorlds
from support.quick import quick_folder
from support.world import Opener, a_world, open_sqlite

STORES: dict[str, Callable[[pytest.FixtureRequest], Opener]] = {
    "sqlite": lambda _: open_sqlite,
    "postgres": lambda request: worlds_of(request).open,
}


def worlds_of(request: pytest.FixtureRequest) -> PostgresWorlds:
    worlds: PostgresWorlds = request.getfixturevalue("postgres_worlds")
    return worlds


Cause = tuple[str, dict[str, Any]]
Happening = tuple[list[Cause], int, int | None]
"""Causes that come at once, hours that pass before, and the call at which the process dies."""

_which = st.integers(0, 3)
_yes_or_no = st.booleans()


def cause(name: str, **given_: st.SearchStrategy[Any]) -> st.SearchStrategy[Cause]:
    return st.tuples(st.just(name), st.fixed_dictionaries(given_))


causes = st.one_of(
    cause("keep"),
    cause("submit", which=_which, fresh=_yes_or_no),
    cause("submit", which=_which, fresh=_yes_or_no),
    cause("work", which=_which, well=_yes_or_no),
    cause("work", which=_which, well=_yes_or_no),
    cause("work", which=_which, well=st.just(True)),
    cause("erase", which=_which),
    cause("redrive", which=_which, corrected=_yes_or_no),
    cause("erase", which=_which),
    cause("prune"),
    cause("sweep"),
)
# While somebody dawdles nobody else is in the middle of a write: a sweeper that saw the clock jump
# would wait.
dawdling = cause("dawdle", which=_which).map(lambda one: [one])
happenings = st.tuples(
    st.lists(causes, min_size=1, max_size=3) | dawdling,
    st.sampled_from([0, 0, 1, 13, 25]),
    st.none() | st.integers(0, 20),
)
histories = st.lists(happenings, min_size=6, max_size=16)


async def live(hoard: Hoard, history: list[Happening], seen: Counter[str]) -> None:
    for together, hours, cut_at in history:
        hoard.pass_time(hours)
        verbs = [partial(getattr(hoard, name), **given_) for name, given_ in together]
        if len(verbs) == 1:
            await hoard.run(verbs[0], cut_at)
        else:
            await asyncio.gather(*(hoard.run(verb) for verb in verbs))
        await hoard.check()
        seen["kept"] += len(await hoard.referenced())


async def comes_to_rest(hoard: Hoard, seen: Counter[str]) -> None:
    """After two days without a crash only what something refers to is left."""
    before = len(hoard.files())
    for _ in range(2):
        hoard.pass_time(25)
        await hoard.run(hoard.sweep)
    seen["swept"] += before - len(hoard.files())
    await hoard.check()
    assert {path.name for path in hoard.files()} == await hoard.referenced()


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("name", STORES)
def test_nothing_referred_to_is_swept_and_all_else_is(
    name: str, request: pytest.FixtureRequest
) -> None:
    open_store = STORES[name](request)
    seen = Counter[str]()

    async def one(history: list[Happening]) -> None:
        with quick_folder() as folder:
            async with a_world(open_store, folder / "data") as world:
                hoard = Hoard(world, folder / "blobs")
                await live(hoard, history, seen)
                await comes_to_rest(hoard, seen)
                await hoard.blobs.close()

    @settings(max_examples=settings.get_profile("stagepost").max_examples)
    @given(histories)
    def run(history: list[Happening]) -> None:
        note_it(repr(history))
        asyncio.run(one(history))

    run()
    assert min(seen["kept"], seen["swept"]) > 20, seen
