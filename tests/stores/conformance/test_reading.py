"""What anybody may ask."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from stagepost.errors import Conflict, NotFound
from stagepost.failure import FailureKind
from stagepost.outcome import Drained, Outcome
from stagepost.records import ApiKey, DeadGroup, Filter, LaneRecord, Scope
from stagepost.task import Payload, Status
from support.tasks import failed, succeeded
from support.world import EVERYBODY, World, checkpoint, new_id, note, refused


async def ids(world: World, scope: Scope = EVERYBODY, **where: object) -> list[str]:
    return [task.id for task in await world.store.find(scope, Filter(**where))]  # type: ignore[arg-type]


async def test_an_unknown_task_is_not_found(world: World) -> None:
    await refused(world.view(new_id()), NotFound)
    await refused(world.view("no id at all"), NotFound)
    assert await world.store.events(new_id(), 0, 10) == []
    assert await world.store.steps(new_id()) == []
    assert await world.store.artifacts(new_id()) == []
    assert await world.store.failures(new_id()) == []


async def test_the_place_in_the_queue(world: World) -> None:
    submitted = []
    for _ in range(4):
        submitted.append(await world.submit())
        world.clock.advance(0.001)
    other = await world.submit(lane="batch")
    urgent = await world.submit(priority=60)
    places = [(await world.view(task_id)).position for task_id in [urgent, *submitted, other]]
    assert places == [1, 2, 3, 4, 5, 1]
    (claimed,) = await world.claim()
    assert claimed.task_id == urgent
    assert (await world.view(urgent)).position is None
    assert (await world.view(submitted[0])).position == 1


async def test_only_a_pooled_task_has_a_place(world: World) -> None:
    for task_id in (await world.submit(delay=9.0), await world.settled(failed(9.0))):
        assert (await world.view(task_id)).position is None


# Lists


async def test_the_newest_come_first_in_pages(world: World) -> None:
    submitted = [await world.submit() for _ in range(7)]
    newest = submitted[::-1]
    assert await ids(world) == newest
    pages, after = [], None
    for _ in range(4):
        page = await ids(world, after=after, limit=3)
        pages.append(page)
        after = page[-1] if page else None
    # After the last one comes nothing, and after nothing the first.
    assert pages == [newest[:3], newest[3:6], newest[6:], []]


async def test_a_page_is_not_moved_by_what_comes_meanwhile(world: World) -> None:
    submitted = [await world.submit() for _ in range(4)]
    first = await ids(world, limit=2)
    await world.submit()
    await world.cancel(submitted[3])
    assert await ids(world, limit=2, after=first[-1]) == submitted[1::-1]


async def test_every_filter(world: World) -> None:
    start = world.clock.now()
    plain = await world.submit()
    world.clock.advance(1)
    tagged = await world.submit(tags=("x", "y"), user="bob", lane="batch")
    world.clock.advance(1)
    other = await world.submit(tenant="other", type="scan", tags=("x",))
    hand = await world.worker({"interactive": 1})
    dead = await world.settled(failed(None), priority=3_600, by=hand)
    done = await world.settled(succeeded(), priority=3_600, by=hand)
    expected: list[tuple[dict[str, Any], list[str]]] = [
        ({"statuses": (Status.QUEUED,)}, [other, tagged, plain]),
        ({"statuses": (Status.DEAD_LETTER,)}, [dead]),
        ({"statuses": (Status.DEAD_LETTER, Status.COMPLETED)}, [done, dead]),
        ({"statuses": (Status.RUNNING,)}, []),
        ({"type": "scan"}, [other]),
        ({"lane": "batch"}, [tagged]),
        ({"tag": "x"}, [other, tagged]),
        ({"tag": "y"}, [tagged]),
        ({"tag": "z"}, []),
        ({"user": "bob"}, [tagged]),
        ({"failure_kind": "SERVER_ERROR"}, [dead]),
        ({"failure_kind": "BUG"}, []),
        ({"created_after": start + 1_000}, [done, dead, other, tagged]),
        ({"created_before": start + 1_000}, [plain]),
        ({"created_after": start + 1_000, "created_before": start + 2_000}, [tagged]),
        ({"tag": "x", "type": "review", "user": "bob", "lane": "batch"}, [tagged]),
        ({"tag": "x", "statuses": (Status.COMPLETED,)}, []),
        ({"limit": 1}, [done]),
    ]
    for where, found in expected:
        assert await ids(world, **where) == found, where


async def test_a_list_shows_what_its_reader_may_see(world: World) -> None:
    ada, bob = await world.submit(tags=("x",)), await world.submit(user="bob", tags=("x",))
    other = await world.submit(tenant="other", tags=("x",))
    for where in ({}, {"tag": "x"}, {"statuses": (Status.QUEUED,)}):
        assert await ids(world, Scope("acme"), **where) == [bob, ada]
        assert await ids(world, Scope("acme", "ada"), **where) == [ada]
        assert await ids(world, Scope("other"), **where) == [other]
        assert await ids(world, Scope("nobody"), **where) == []
    assert await ids(world, Scope("acme", "ada"), user="bob") == []
    assert await ids(world, Scope("acme"), user="bob") == [bob]


async def test_dead_letters_of_a_tenant(world: World) -> None:
    mine = [await world.settled(failed(None)) for _ in range(3)]
    await world.settled(failed(None), tenant="other")
    where = {"statuses": (Status.DEAD_LETTER,)}
    assert await ids(world, Scope("acme"), **where) == mine[::-1]
    assert await ids(world, Scope("acme"), **where, after=mine[2], limit=1) == [mine[1]]


# Events


async def test_events_in_pages(world: World) -> None:
    claimed = await world.running()
    for n in range(1, 9):
        await world.store.progress(claimed.lease, note(n))
    numbers = []
    for after in (0, 4, 8, 10, 99):
        events = await world.store.events(claimed.task_id, after, 4)
        numbers.append([event.seq for event in events])
    assert numbers == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10], [], []]


async def test_an_event_carries_its_time(world: World) -> None:
    task_id = await world.submit()
    world.clock.advance(1.25)
    await world.cancel(task_id)
    first, last = await world.store.events(task_id, 0, 10)
    assert last.at - first.at == 1_250
    assert (first.ends, last.ends) == (False, True)


async def test_news_of_many_tasks(world: World) -> None:
    claims = [await world.running() for _ in range(3)]
    for n in range(5):
        await world.store.progress(claims[0].lease, note(n))
    silent = await world.submit(delay=9.0)
    after = {
        claims[0].task_id: 1,
        claims[1].task_id: 2,
        claims[2].task_id: 0,
        silent: 0,
        new_id(): 0,
    }
    news = await world.store.news(after, 3)
    assert {task_id: [event.seq for event in events] for task_id, events in news.items()} == {
        claims[0].task_id: [2, 3, 4],
        claims[2].task_id: [1, 2],
    }
    for task_id, events in news.items():
        assert list(events) == list(await world.store.events(task_id, after[task_id], 3))
    assert await world.store.news({}, 10) == {}


async def test_news_of_ten_thousand_watched_tasks(world: World) -> None:
    task_id = await world.submit()
    after = {new_id(): 0 for _ in range(10_000)} | {task_id: 0}
    assert list(await world.store.news(after, 10)) == [task_id]


# Timelines and groups


async def test_a_timeline_is_paged_in_the_order_of_saving_and_holds_no_values(
    world: World,
) -> None:
    claimed = await world.running()
    paths = ["z#1", "a#1", "m#1", "b#1"]
    for path in paths:
        await world.store.checkpoint(claimed.lease, checkpoint(path, '"long"'))
    whole = await world.store.timeline(claimed.task_id, None, 10)
    assert [step.path for step in whole] == paths
    saved = await world.store.steps(claimed.task_id)
    assert whole == [replace(step, value=Payload(None, 6)) for step in saved]
    pages = [await world.store.timeline(claimed.task_id, after, 2) for after in ("a#1", "b#1")]
    assert [[step.path for step in page] for page in pages] == [["m#1", "b#1"], []]
    assert await world.store.timeline(new_id(), None, 10) == []


async def test_dead_letters_are_counted_by_kind_and_type(world: World) -> None:
    hand = await world.worker(types=["review", "scan"])
    first = world.clock.now()
    for kind in ("BUG", "BUG", "TIMEOUT"):
        await world.settled(failed(None, FailureKind(kind)), by=hand)
        world.clock.advance(1)
    await world.settled(failed(None, FailureKind.BUG), by=hand, type="scan", tags=("x",))
    await world.settled(failed(None, FailureKind.BUG), by=hand, tenant="other")
    await world.settled(failed(60.0, FailureKind.BUG), by=hand)
    groups = await world.store.dead_groups(Scope("acme"), Filter(limit=1, after="x"))
    assert groups == [
        DeadGroup("BUG", "review", 2, first),
        DeadGroup("BUG", "scan", 1, first + 3_000),
        DeadGroup("TIMEOUT", "review", 1, first + 2_000),
    ]
    tagged = await world.store.dead_groups(EVERYBODY, Filter(tag="x"))
    assert [group.type for group in tagged] == ["scan"]
    assert await world.store.dead_groups(Scope("acme", "bob"), Filter()) == []


# Lanes


async def test_lanes(world: World) -> None:
    oldest = world.clock.now()
    for _ in range(3):
        await world.submit()
        world.clock.advance(1)
    await world.submit(lane="batch", delay=5.0)
    await world.claim()
    lanes = await world.store.lanes(["interactive", "batch", "unused"])
    assert [(lane.name, lane.queued, lane.running) for lane in lanes] == [
        ("interactive", 2, 1), ("batch", 0, 0), ("unused", 0, 0),
    ]  # fmt: skip
    assert [lane.oldest_pooled_at for lane in lanes] == [oldest + 1_000, None, None]


async def test_a_head_start_hides_no_older_task(world: World) -> None:
    oldest = world.clock.now()
    await world.submit()
    world.clock.advance(5)
    await world.submit(priority=3_600)
    (lane,) = await world.store.lanes(["interactive"])
    assert lane.oldest_pooled_at == oldest


async def test_the_rates_of_the_last_minute(world: World) -> None:
    """What entered the pool, for whatever reason, and what has ended, in whatever way."""

    async def rates() -> list[tuple[int, int]]:
        lanes = await world.store.lanes(["interactive", "batch"])
        return [(lane.arrivals, lane.completions) for lane in lanes]

    assert await rates() == [(0, 0), (0, 0)]
    await asyncio.gather(
        *(world.submit() for _ in range(5)), world.submit(lane="batch", priority=1)
    )
    await world.submit(delay=20.0)
    hand = await world.worker({"interactive": 1})
    outcomes: list[Outcome] = [succeeded(), failed(None), failed(1.0), Drained()]
    for outcome, claimed in zip(outcomes, await world.claim(4, by=hand), strict=True):
        await world.store.settle(claimed.lease, outcome)
    assert await rates() == [(6, 2), (1, 0)]
    world.clock.advance(30)
    await world.store.release_due(10)
    await world.cancel(await world.submit(lane="batch"))
    assert await rates() == [(8, 2), (2, 1)]
    world.clock.advance(31)
    assert await rates() == [(2, 0), (1, 1)]
    world.clock.advance(30)
    assert await rates() == [(0, 0), (0, 0)]


async def test_lanes_without_tasks(world: World) -> None:
    assert await world.store.lanes(["a"]) == [LaneRecord("a")]
    assert await world.store.lanes([]) == []


# Keys


def a_key(**changes: object) -> ApiKey:
    values = {"id": new_id(), "name": "ci", "tenant": "acme", "roles": ("submit", "read")}
    return ApiKey(**{**values, "hash": new_id(), **changes})  # type: ignore[arg-type]


async def test_a_key_is_kept(world: World) -> None:
    key = await world.store.add_key(a_key(user="ada"))
    assert key.created_at == world.clock.now()
    assert await world.store.key(key.hash) == key
    assert await world.store.keys("acme") == [key]
    assert await world.store.key("another hash") is None


async def test_a_key_that_is_revoked_opens_nothing(world: World) -> None:
    key, kept = await world.store.add_key(a_key()), await world.store.add_key(a_key())
    await refused(world.store.revoke_key(key.id, "other"), NotFound)
    assert await world.store.key(key.hash) == key
    await world.store.revoke_key(key.id, "acme")
    assert await world.store.key(key.hash) is None
    assert await world.store.keys("acme") == [kept]
    await refused(world.store.revoke_key(key.id, "acme"), NotFound)


async def test_keys_of_all_tenants(world: World) -> None:
    keys = [await world.store.add_key(a_key(tenant=tenant)) for tenant in ("a", "b", "a")]
    assert await world.store.keys(None) == keys
    assert await world.store.keys("a") == [keys[0], keys[2]]
    assert await world.store.keys("c") == []


@pytest.mark.parametrize("same", ["id", "hash"])
async def test_a_key_is_its_own(world: World, same: str) -> None:
    key = await world.store.add_key(a_key())
    await refused(world.store.add_key(a_key(**{same: getattr(key, same)})), Conflict)


async def test_the_store_answers_that_it_is_well(world: World) -> None:
    await world.store.ping()


async def test_a_blob_is_staged_once(world: World) -> None:
    key = new_id()
    await world.store.stage(key)
    await refused(world.store.stage(key), Conflict)


async def test_a_reader_sees_one_moment(world: World) -> None:
    """A view is of one moment: a result goes with COMPLETED, never without."""
    for _ in range(20):
        claimed = await world.running()
        end = asyncio.create_task(world.store.settle(claimed.lease, succeeded()))
        while not end.done():
            view = await world.view(claimed.task_id)
            assert (view.result is not None) == (view.task.status is Status.COMPLETED)
            assert (view.task.progress == 100) == (view.task.status is Status.COMPLETED)
        await end
