"""What the ledger should say, kept beside it: workers call, die and come late; people redrive.

A worker sends a call only where the ledger has no answer for it, as the engine does.
"""

from dataclasses import dataclass, field
from datetime import date

from stagepost.calls import CallEnd, CallKey, CallState, replays
from stagepost.errors import Conflict
from stagepost.outcome import Drained
from stagepost.records import Claimed
from stagepost.retention import Erasure
from stagepost.spending import Spent, UsageQuery
from stagepost.task import Status
from support.calls import new_call, refused_call, rejected, result
from support.tasks import failed, succeeded
from support.world import EVERYBODY, World, checkpoint

ENDS = (
    result(),
    result(cost=None),
    rejected(),
    refused_call(),
    refused_call(maybe_billed=True),
)
STEPS = ("a#1", "b#1", "c#1")
ALWAYS = UsageQuery(date(2000, 1, 1), date(2100, 1, 1))


@dataclass
class Entry:
    """A call as it should be."""

    task_id: str
    id: str
    key: CallKey
    fence: int
    end: CallEnd | None = None
    dropped: bool = False


@dataclass
class Book:
    """One world's calls. `used` are the answers that claims have got and no redrive has dropped."""

    world: World
    entries: list[Entry] = field(default_factory=list)
    claims: dict[str, Claimed] = field(default_factory=dict)
    tasks: list[str] = field(default_factory=list)
    used: dict[tuple[str, CallKey], str] = field(default_factory=dict)
    saved: dict[str, list[str]] = field(default_factory=dict)
    erased: set[str] = field(default_factory=set)

    # What happens; a number picks one of those there are

    async def submit(self) -> None:
        """One more task."""
        if len(self.tasks) < 3:
            self.tasks.append(await self.world.submit(max_attempts=100))

    async def claim(self) -> None:
        """A worker takes what is there."""
        self.world.clock.advance(60)
        await self.world.store.release_due(10)
        for claimed in await self.world.claim(5):
            self.claims[claimed.task_id] = claimed

    async def call(self, which: int, step: int, n: int) -> None:
        """A step asks for an answer: it gets the saved one, or sends a call."""
        if not self.claims:
            await self.claim()
        claimed = self._running(which)
        key = CallKey(STEPS[step], "hash", n)
        if claimed is None or key.path in self.saved.get(claimed.task_id, ()):
            return
        if self._flies(claimed, key):
            # A claim asks for each of its answers once.
            return
        found = await self.world.store.calls.memo(claimed.task_id, key)
        if found is not None:
            self._use(claimed.task_id, key, found.call_id)
        else:
            assert (claimed.task_id, key) not in self.used, "its answer was lost"
            call = new_call(key)
            await self.world.store.calls.begin(claimed.lease, call)
            self.entries.append(Entry(claimed.task_id, call.id, key, claimed.fence))

    def _flies(self, claimed: Claimed, key: CallKey) -> bool:
        """Whether this claim waits for that answer already."""
        return any(
            (each.task_id, each.key, each.fence, each.end)
            == (claimed.task_id, key, claimed.fence, None)
            for each in self.entries
        )

    def _use(self, task_id: str, key: CallKey, call_id: str) -> None:
        assert self.used.setdefault((task_id, key), call_id) == call_id, (
            "another answer than before"
        )

    async def end(self, which: int, how: int) -> None:
        """A provider has answered, or not; perhaps long after the claim is over."""
        # Of those that have ended some are told a second time.
        among = [each for each in self.entries if each.end is None or which % 5 == 0]
        if not among:
            return
        entry = among[which % len(among)]
        await self.world.store.calls.end(entry.task_id, entry.id, ENDS[how])
        if entry.end is not None:
            return
        entry.end = ENDS[how]
        claimed = self.claims.get(entry.task_id)
        if entry.end.state is CallState.RESULT and claimed and claimed.fence == entry.fence:
            self._use(entry.task_id, entry.key, entry.id)
        self.world.clock.advance(1)

    async def save(self, which: int, step: int) -> None:
        """A step is done."""
        claimed = self._running(which)
        if claimed is None or STEPS[step] in self.saved.get(claimed.task_id, ()):
            return
        await self.world.store.checkpoint(claimed.lease, checkpoint(STEPS[step]))
        self.saved.setdefault(claimed.task_id, []).append(STEPS[step])

    async def settle(self, which: int, how: int) -> None:
        """A claim ends."""
        claimed = self._running(which)
        if claimed is not None:
            outcome = (Drained(), failed(None), failed(1.0), succeeded())[how]
            await self.world.store.settle(claimed.lease, outcome)
            del self.claims[claimed.task_id]

    async def die(self) -> None:
        """Every worker is lost."""
        await self.world.lose()
        self.claims.clear()

    async def redrive(self, which: int, *, fresh: bool) -> None:
        """A person sends a dead letter back."""
        if not self.tasks:
            return
        task_id = self.tasks[which % len(self.tasks)]
        try:
            await self.world.redrive(task_id, 100, fresh=fresh)
        except Conflict:
            return
        if fresh:
            self.saved.pop(task_id, None)
            self.used = {key: one for key, one in self.used.items() if key[0] != task_id}
            for entry in self.entries:
                entry.dropped = entry.dropped or entry.task_id == task_id

    async def erase(self, which: int) -> None:
        """A person has a task erased."""
        if not self.tasks:
            return
        task_id = self.tasks[which % len(self.tasks)]
        task = await self.world.task(task_id)
        if task.status in {Status.COMPLETED, Status.DEAD_LETTER}:
            wish = Erasure("eve", task.seq, "hash")
            await self.world.store.retention.erase(task_id, EVERYBODY, wish)
            self.tasks.remove(task_id)
            self.erased.add(task_id)

    async def note(self, many: int) -> None:
        """The leader counts what is unknown."""
        await self.world.store.calls.note_unknown(many)

    def _running(self, which: int) -> Claimed | None:
        claims = list(self.claims.values())
        return claims[which % len(claims)] if claims else None

    # What must hold

    async def check(self) -> None:
        """The ledger says what the book says, row by row and in its sums."""
        store = self.world.store.calls
        unknown = 0
        for task_id in (*self.tasks, *self.erased):
            mine = [each for each in self.entries if each.task_id == task_id]
            rows = await store.find(task_id, EVERYBODY, None, 1_000)
            assert [(row.id, row.state, row.dropped, row.erased) for row in rows] == [
                (each.id, self._state(each), each.dropped, task_id in self.erased) for each in mine
            ]
            assert await store.spent(task_id, EVERYBODY) == self._spent(mine)
            unknown += sum(row.state is CallState.UNKNOWN for row in rows)
            memos = replays(await store.memos(task_id, None, 1_000))
            for key, answer in memos.items():
                assert self.used.get((task_id, key), answer.call_id) == answer.call_id
        found = await store.usage(EVERYBODY, ALWAYS)
        assert (found[0].spent if found else Spent()) == self._spent(self.entries)
        assert await store.unknown_by_type() == ({"review": unknown} if unknown else {})
        assert len(await store.unknown(EVERYBODY, None, 1_000)) == unknown

    def _state(self, entry: Entry) -> CallState:
        if entry.end is not None:
            return entry.end.state
        claimed = self.claims.get(entry.task_id)
        held = claimed is not None and claimed.fence == entry.fence
        return CallState.INTENT if held else CallState.UNKNOWN

    def _spent(self, entries: list[Entry]) -> Spent:
        sums = dict.fromkeys(Spent.__slots__, 0)
        for entry in entries:
            state = self._state(entry)
            if state is CallState.INTENT:
                continue
            told = (None, None, None) if entry.end is None else entry.end.counted
            usage = None if entry.end is None else entry.end.usage
            sums["calls"] += 1
            for name in ("rejected", "refused", "unknown"):
                sums[name] += state == name.upper()
            sums["input"] += 200 if told[0] is None else told[0]
            sums["output"] += 300 if told[1] is None else told[1]
            sums["cost"] += 1_000 if told[2] is None else told[2]
            sums["unknown_cost"] += 1_000 * (entry.end is None)
            sums["cached"] += (usage and usage.cached) or 0
            sums["reasoning"] += (usage and usage.reasoning) or 0
        return Spent(**sums)
