"""After a history the faults stop: whatever is still open is brought to its end, and then nothing
is left.
"""

import asyncio
import time

from stagepost.task import SETTLED, Status, Task
from support.families import let_wake
from support.invariants import look, violations
from support.tasks import succeeded
from support.twins import Twins
from support.verbs import settle, verb
from support.waiting import PATIENCE
from support.world import Hand

_ROUNDS = 500
_AGAIN = 0.01  # seconds
_SLOTS = 10
_LEASE = 15.0  # seconds
VERSIONS = {"review": (3, 2, 1), "translate": (1,)}


async def heal(twins: Twins) -> None:
    """Bring everything to rest, still in step with the model; then no invariant is broken."""
    twins.model.now = twins.world.clock.now()
    twins.go_to(twins.model.now + round(_LEASE * 1000))
    await twins.rescue(_LEASE)
    await twins.alike.let_families_know()
    hand = await twins.new_hand(("review", "translate"), VERSIONS)
    for _ in range(_ROUNDS):
        if not await _goes_on(twins, hand):
            break
        await twins.alike.let_families_know()
    await _count_ends(twins)
    await twins.both("retire", verb("retire", hand.id))
    await twins.alike.compare()
    limit = time.monotonic() + PATIENCE
    while (wrong := await broken(twins)) and time.monotonic() < limit:
        # Another loop of the store may have a note in hand.
        await asyncio.sleep(_AGAIN)
        await let_wake(twins.world)
    assert not wrong, wrong


async def broken(twins: Twins) -> list[str]:
    """The violations that a world shows now."""
    model = twins.model
    tenants = sorted({task.tenant for task in model.tasks.values()})
    thinned = {task_id for task_id, events in model.events.items() if events[0].seq > 1}
    found = await look(twins.world.store, tenants)
    return violations(twins.alike.heard, found, set(model.gone), thinned)


async def _goes_on(twins: Twins, hand: Hand) -> bool:
    """Do what is next; False once there is nothing."""
    left = [task for task in twins.model.tasks.values() if task.status not in SETTLED]
    if any(task.status is Status.QUEUED for task in left):
        await _work(twins, hand)
    elif due := [task.due_at for task in left if task.due_at is not None]:
        twins.go_to(min(due))
        await twins.release()
    elif left:
        await _answer(twins, left[0])
    return bool(left)


async def _count_ends(twins: Twins) -> None:
    """Changes of many tasks look what has become of them."""
    mass = twins.world.store.mass
    for _ in range(_ROUNDS):
        changes = await mass.open(_ROUNDS)
        for change in changes:
            await mass.advance(change)
        if not changes:
            return


async def _work(twins: Twins, hand: Hand) -> None:
    await twins.claim_by(hand, _SLOTS)
    own = [task for task in twins.model.tasks.values() if task.worker_id == hand.id]
    verbs = [settle(task.lease, succeeded()) for task in own if task.lease]
    await twins.both("settle", *verbs)


async def _answer(twins: Twins, task: Task) -> None:
    """It waits for somebody, who comes; or for children that nobody will ever make."""
    waits = [wait for wait in twins.model.waits.get(task.id, {}).values() if wait.name]
    for wait in waits:
        await twins.send_one(task.id, wait.name or "", (wait.approvers or ("ada",))[0])
    if twins.model.tasks[task.id].status is Status.WAITING:
        await twins.give_up(task.id)
