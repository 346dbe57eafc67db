"""The verbs of the store that the web layer brought: kept uploads, timelines, groups, rates."""

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stagepost.choice import LaneTurns
from stagepost.clock import SystemClock
from stagepost.errors import Conflict
from stagepost.failure import Failure, FailureKind
from stagepost.outcome import Failed, Succeeded
from stagepost.records import (
    ApiKey,
    Checkpoint,
    Claimed,
    DeadGroup,
    Demand,
    Filter,
    NewTask,
    Scope,
    UploadRecord,
    WorkerRecord,
)
from stagepost.stores.sqlite import SqliteStore
from stagepost.task import Payload

if TYPE_CHECKING:
    from stagepost.bus import Committed

WORKER = "00000000-0000-7000-8000-00000000000a"
TASK = "00000000-0000-7000-8000-{:012d}"
FILE = UploadRecord("00000000-0000-7000-9000-000000000001", "acme", "a.pdf", "x/y", 7, "ab")
ALL = Scope(None)


class _Kept:
    """A store, and what it announced."""

    def __init__(self, folder: Path) -> None:
        self.counts: Counter[tuple[str, str, str]] = Counter()
        self.store = SqliteStore(folder, SystemClock(), self._committed)

    def _committed(self, news: "Committed") -> None:
        self.counts.update(news.counts)

    async def submit(
        self,
        number: int,
        type_name: str = "echo",
        *,
        uploads: tuple[UploadRecord, ...] = (),
        tags: tuple[str, ...] = (),
    ) -> None:
        new = NewTask(
            TASK.format(number), "acme", "ann", type_name, "interactive", "{}", 4, 86_400.0
        )
        await self.store.submit(new._replace(uploads=uploads, tags=tags))

    async def claim(self) -> Claimed:
        demand = Demand(WORKER, 1, LaneTurns({"interactive": 1}), ("echo", "review"))
        return (await self.store.claim(demand, wait=5.0))[0]

    async def bury(self, kind: FailureKind) -> None:
        task = await self.claim()
        await self.store.settle(task.lease, Failed(Failure(kind, "It failed."), None))


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[_Kept]:
    made = _Kept(tmp_path)
    await made.store.register(
        WorkerRecord(WORKER, "by hand", ("interactive",), ("echo", "review"), 1, "1")
    )
    yield made
    await made.store.close()


async def test_a_kept_upload_is_found_by_its_tenant_only(kept: _Kept) -> None:
    await kept.store.stage(FILE.upload_id)
    await kept.store.keep_upload(FILE)

    assert await kept.store.uploads("acme", [FILE.upload_id]) == [FILE]
    assert await kept.store.uploads("other", [FILE.upload_id]) == []


async def test_several_tasks_may_name_one_kept_upload(kept: _Kept) -> None:
    await kept.store.stage(FILE.upload_id)
    await kept.store.keep_upload(FILE)

    await kept.submit(1, uploads=(FILE,))
    await kept.submit(2, uploads=(FILE,))

    for number in (1, 2):
        view = await kept.store.get(TASK.format(number), ALL)
        assert view.task.upload_bytes == 7
    assert await kept.store.uploads("acme", [FILE.upload_id]) == [FILE]


async def test_a_timeline_is_paged_and_holds_no_values(kept: _Kept) -> None:
    await kept.submit(1)
    task = await kept.claim()
    for name in ("a", "b", "c"):
        saved = Checkpoint(name, name, "hash", Payload('"long"', 6), 1)
        await kept.store.checkpoint(task.lease, saved)

    first = await kept.store.timeline(task.task_id, None, 2)
    rest = await kept.store.timeline(task.task_id, first[-1].path, 2)

    assert [step.path for step in [*first, *rest]] == ["a", "b", "c"]
    assert {step.value for step in [*first, *rest]} == {Payload(None, 6)}


async def test_dead_letters_are_counted_by_kind_and_type(kept: _Kept) -> None:
    kinds = (FailureKind.BUG, FailureKind.BUG, FailureKind.TIMEOUT)
    for number, kind in enumerate(kinds):
        await kept.submit(number)
        await kept.bury(kind)
    await kept.submit(9, "review")
    await kept.bury(FailureKind.BUG)

    groups = await kept.store.dead_groups(Scope("acme"), Filter())

    assert [(group.failure_kind, group.type, group.count) for group in groups] == [
        ("BUG", "echo", 2),
        ("BUG", "review", 1),
        ("TIMEOUT", "echo", 1),
    ]
    ended = [(await kept.store.get(TASK.format(number), ALL)).task.ended_at for number in (0, 1)]
    oldest = min(moment for moment in ended if moment is not None)
    assert groups[0] == DeadGroup("BUG", "echo", 2, oldest)
    assert await kept.store.dead_groups(Scope("other"), Filter()) == []
    reviews = await kept.store.dead_groups(ALL, Filter(type="review"))
    assert [group.type for group in reviews] == ["review"]


async def test_a_text_can_be_a_key_only_once(kept: _Kept) -> None:
    key = ApiKey("1", "first", "acme", ("read",), "hash")
    await kept.store.add_key(key)
    await kept.store.revoke_key("1", "acme")

    with pytest.raises(Conflict):
        await kept.store.add_key(ApiKey("2", "second", "acme", ("read",), "hash"))


async def test_each_commit_counts_its_facts_and_lanes_have_rates(kept: _Kept) -> None:
    await kept.submit(1)
    await kept.submit(2, tags=("slow path",))
    done = await kept.claim()
    await kept.store.settle(done.lease, Succeeded(Payload("1", 1)))
    await kept.bury(FailureKind.BUG)

    assert kept.counts == {
        ("echo", "interactive", "queued"): 2,
        ("echo", "interactive", "started"): 2,
        ("echo", "interactive", "completed"): 1,
        ("echo", "interactive", "failed"): 1,
    }
    lane = (await kept.store.lanes(["interactive"]))[0]
    assert (lane.arrivals, lane.completions) == (2, 2)
