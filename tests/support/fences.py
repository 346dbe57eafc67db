"""What a stale writer tries, verb by verb. Each scenario fails where the fence does not hold.

They stand here, and not in a test file, because they are also run against stores whose fences were
taken away, and must fail there.
"""

from collections.abc import Awaitable, Callable

from stagepost.errors import LeaseLost
from stagepost.outcome import Cancelled, Drained, Outcome
from stagepost.records import Artifact
from stagepost.signals import NewWait
from stagepost.task import Lease, Status
from support.calls import new_call
from support.tasks import failed, succeeded, waiting
from support.world import ASKED, EVERYBODY, World, checkpoint, note, refused

Write = Callable[[World, Lease], Awaitable[None]]

OUTCOMES: dict[str, Outcome] = {
    "succeeded": succeeded(),
    "failed": failed(5.0),
    "dead": failed(None),
    "waiting": waiting(),
    "drained": Drained(),
    "cancelled": Cancelled(ASKED),
}


def artifact(name: str = "report.html", blob: str = "blob") -> Artifact:
    """A file of a task."""
    return Artifact(name, "text/html", 5, "sha", blob)


def _settling(outcome: Outcome) -> Write:
    return lambda world, lease: world.store.settle(lease, outcome, note(77))


async def _sleep(world: World, lease: Lease) -> None:
    await world.store.waits.sleep(lease, "sleep", 1.0)


async def _listen(world: World, lease: Lease) -> None:
    await world.store.waits.listen(lease, NewWait("wait_for go", "wait_for go", "hash", "go"))


WRITES: dict[str, Write] = {
    "checkpoint": lambda world, lease: world.store.checkpoint(lease, checkpoint("late"), note(77)),
    "progress": lambda world, lease: world.store.progress(lease, note(77)),
    "sleep": _sleep,
    "listen": _listen,
    "begin a call": lambda world, lease: world.store.calls.begin(lease, new_call()),
    "attach": lambda world, lease: world.store.attach(lease, artifact()),
    **{f"settle {name}": _settling(outcome) for name, outcome in OUTCOMES.items()},
}
"""Every fenced write of the port."""


async def nothing_changes(world: World, lease: Lease, write: Write) -> None:
    """The write is refused, and leaves no trace."""
    before = await _everything(world, lease.task_id)
    world.bells.clear()
    await refused(write(world, lease), LeaseLost)
    assert await _everything(world, lease.task_id) == before
    assert world.bells == []


async def _everything(world: World, task_id: str) -> object:
    store = world.store
    return (
        await world.view(task_id),
        await store.events(task_id, 0, 1_000),
        await store.steps(task_id),
        await store.artifacts(task_id),
        await store.failures(task_id),
        await store.calls.find(task_id, EVERYBODY, None, 1_000),
    )


async def stale_after_reclaim(world: World, write: Write) -> None:
    """Its claim was rescued, and another worker owns the task: two claims, a stale writer."""
    stale = await world.running()
    await world.store.checkpoint(stale.lease, checkpoint("read#1"))
    await world.lose()
    current = await world.reclaim(stale.task_id)
    assert current.fence == stale.fence + 1
    await nothing_changes(world, stale.lease, write)
    # The owner notices nothing.
    await world.store.checkpoint(current.lease, checkpoint("read#2"))
    await world.store.settle(current.lease, succeeded('"the owner\'s"'))
    view = await world.view(stale.task_id)
    assert (view.task.status, view.result) == (Status.COMPLETED, succeeded('"the owner\'s"').result)


async def stale_after_rescue(world: World, write: Write) -> None:
    """Its claim was rescued, and nobody owns the task yet."""
    stale = await world.running()
    await world.store.checkpoint(stale.lease, checkpoint("read#1"))
    await world.lose()
    assert await world.status(stale.task_id) is Status.QUEUED
    await nothing_changes(world, stale.lease, write)


async def stale_after_its_own_end(world: World, write: Write) -> None:
    """It has settled already: whatever the outcome, it does so once."""
    for outcome in OUTCOMES.values():
        claimed = await world.running()
        await world.store.settle(claimed.lease, outcome)
        await nothing_changes(world, claimed.lease, write)
        if outcome == Drained():
            await world.cancel(claimed.task_id)


async def a_lease_of_one_whose_id_or_fence_is_wrong(world: World, write: Write) -> None:
    """Both parts of a lease count."""
    claimed = await world.running()
    await nothing_changes(world, claimed.lease._replace(lease_id="forged"), write)
    await nothing_changes(world, claimed.lease._replace(fence=claimed.fence + 1), write)
    await nothing_changes(world, claimed.lease._replace(fence=claimed.fence - 1), write)


async def a_lease_of_another_task(world: World, write: Write) -> None:
    """A lease opens one task only, though one claim may have given many."""
    for _ in range(2):
        await world.submit()
    one, other = await world.claim(2)
    mixed = one.lease._replace(fence=2, task_id=other.task_id)
    await nothing_changes(world, mixed, write)
    assert await world.status(other.task_id) is Status.RUNNING


SCENARIOS = [
    stale_after_reclaim,
    stale_after_rescue,
    stale_after_its_own_end,
    a_lease_of_one_whose_id_or_fence_is_wrong,
    a_lease_of_another_task,
]
