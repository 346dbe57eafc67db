"""How long tasks took, as the store keeps it."""

import asyncio

from stagepost.estimates import KEPT
from support.world import World


async def test_nothing_is_known_at_first(world: World) -> None:
    assert await world.store.history.all() == {}


async def test_times_are_kept_by_type_and_size(world: World) -> None:
    await world.store.history.add({("review", 0): [5, 7], ("review", 3): [100], ("scan", 0): [1]})
    await world.store.history.add({("review", 0): [6]})
    found = await world.store.history.all()
    assert {name: {n: list(t) for n, t in times.items()} for name, times in found.items()} == {
        "review": {0: [5, 7, 6], 3: [100]},
        "scan": {0: [1]},
    }


async def test_the_oldest_make_room(world: World) -> None:
    for start in range(0, 150, 10):
        await world.store.history.add({("review", 0): list(range(start, start + 10))})
    assert list((await world.store.history.all())["review"][0]) == list(range(150 - KEPT, 150))
    await world.store.history.add({("scan", 0): list(range(500))})
    assert list((await world.store.history.all())["scan"][0]) == list(range(500 - KEPT, 500))


async def test_they_survive_a_restart(world: World) -> None:
    await world.store.history.add({("review", 0): [5]})
    await world.reopen()
    assert list((await world.store.history.all())["review"][0]) == [5]


async def test_what_got_nothing_new_for_a_season_is_forgotten(world: World) -> None:
    await world.store.history.add({("gone", 0): [5], ("used", 0): [5]})
    world.clock.advance(60 * 86_400)
    await world.store.history.add({("used", 0): [6]})
    world.clock.advance(31 * 86_400)
    await world.store.history.add({("new", 0): [7]})
    assert set(await world.store.history.all()) == {"used", "new"}


async def test_many_at_once_lose_nothing(world: World) -> None:
    places = [("a", 0), ("b", 0), ("c", 0)]
    await asyncio.gather(
        *(
            world.store.history.add({place: [n] for place in places[:: 1 if n % 2 else -1]})
            for n in range(20)
        )
    )
    found = await world.store.history.all()
    for name, _ in places:
        assert sorted(found[name][0]) == list(range(20))
