"""Who leads the engine's loops: one holder at a time, or all where there is but one process."""

import asyncio

from support.world import World


async def test_a_holder_leads_again_and_again(world: World) -> None:
    for _ in range(3):
        assert await world.store.lead("scheduler", "one", 10.0)
        world.clock.advance(5)


async def test_of_two_at_once_one_leads_at_least(world: World) -> None:
    """At least: a store that belongs to one process says yes to all."""
    answers = await asyncio.gather(
        *(world.store.lead("scheduler", f"holder {n}", 10.0) for n in range(4))
    )
    assert any(answers)


async def test_loops_are_led_apart(world: World) -> None:
    assert await world.store.lead("scheduler", "one", 10.0)
    assert await world.store.lead("rescuer", "other", 10.0)


async def test_a_lease_that_has_run_out_is_anybodys(world: World) -> None:
    await world.store.lead("scheduler", "one", 10.0)
    world.clock.advance(10)
    assert await world.store.lead("scheduler", "other", 10.0)


async def test_a_holder_that_asks_for_no_time_leads_no_more(world: World) -> None:
    await world.store.lead("scheduler", "one", 10.0)
    await world.store.lead("scheduler", "one", 0.0)
    assert await world.store.lead("scheduler", "other", 10.0)
