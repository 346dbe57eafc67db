"""What tenants may spend, where somebody has said so."""

from stagepost.errors import Conflict
from stagepost.quota import MOST_BUDGETS, OwnBudgets
from support.world import World, refused

ACME = OwnBudgets("acme", ("20/day", "300/month"))


async def test_they_are_set_and_read_by_tenant(world: World) -> None:
    budgets = world.store.budgets
    assert await budgets.all() == []
    any_sum = OwnBudgets("Zürich b", ())
    await budgets.set(any_sum)
    await budgets.set(OwnBudgets("acme", ("1/day",)))
    await budgets.set(ACME)
    assert await budgets.all() == [any_sum, ACME]


async def test_they_are_taken_away_once_and_again(world: World) -> None:
    await world.store.budgets.set(ACME)
    for _ in range(2):
        await world.store.budgets.unset("acme")
        assert await world.store.budgets.all() == []


async def test_there_is_room_for_so_many_and_no_more(world: World) -> None:
    budgets = world.store.budgets
    for n in range(MOST_BUDGETS):
        await budgets.set(OwnBudgets(f"t{n}", ("1/day",)))
    await refused(budgets.set(ACME), Conflict)
    await budgets.set(OwnBudgets("t7", ("2/day",)))
    await budgets.unset("t7")
    await budgets.set(ACME)
    assert len(await budgets.all()) == MOST_BUDGETS
