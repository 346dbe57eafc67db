"""A claim's journal: writes thinned out, in order, tried again, and refused after the end."""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from stagepost import App
from stagepost.blobstores.folder import FolderBlobs
from stagepost.body_codec import BodyCodec
from stagepost.body_keys import BodyKeys
from stagepost.bus import Committed, Token
from stagepost.buses.memory import MemoryBus
from stagepost.child_pages import ChildPages
from stagepost.claim_journal import ClaimJournal
from stagepost.errors import CallFailed, LeaseLost, StoreUnavailable, Unwritable
from stagepost.failure import FailureKind
from stagepost.insisting import insist
from stagepost.journal import NewStep
from stagepost.records import Artifact, Checkpoint, ProgressNote, SavedStep
from stagepost.task import Lease
from support.claims import CLAIM


class Notebook:
    """The part of a store that a journal writes to."""

    def __init__(self) -> None:
        self.checkpoints: list[tuple[Checkpoint, ProgressNote | None]] = []
        self.notes: list[ProgressNote] = []
        self.attached: list[Artifact] = []
        self.saved: list[SavedStep] = []
        self.errors: list[Exception] = []
        self.busy = asyncio.Event()
        self.busy.set()

    async def _take(self) -> None:
        await self.busy.wait()
        if self.errors:
            raise self.errors.pop(0)

    async def checkpoint(
        self, lease: Lease, checkpoint: Checkpoint, note: ProgressNote | None = None
    ) -> None:
        assert lease == CLAIM.lease
        await self._take()
        self.checkpoints.append((checkpoint, note))
        name, path = checkpoint.name, checkpoint.path
        self.saved.append(
            SavedStep(path, name, checkpoint.input_hash, checkpoint.value, 1, 3, 0, 0)
        )

    async def progress(self, lease: Lease, note: ProgressNote) -> None:
        assert lease == CLAIM.lease
        await self._take()
        self.notes.append(note)

    async def attach(self, lease: Lease, artifact: Artifact) -> None:
        await self._take()
        self.attached.append(artifact)

    async def stage(self, blob: str) -> None:
        await self._take()

    async def steps(self, task_id: str) -> Sequence[SavedStep]:
        return tuple(self.saved)


class Ear:
    """Hears what text a journal sends."""

    def __init__(self) -> None:
        self.tokens: list[Token] = []

    def committed(self, news: Committed) -> None: ...

    def token(self, task_id: str, token: Token) -> None:
        self.tokens.append(token)

    def missed(self) -> None: ...


@pytest.fixture
async def store() -> Notebook:
    return Notebook()


@pytest.fixture
async def bus() -> MemoryBus:
    return MemoryBus()


@pytest.fixture
async def journal(store: Notebook, bus: MemoryBus, tmp_path: Path) -> AsyncIterator[ClaimJournal]:
    made: Any = store
    journal = ClaimJournal(
        CLAIM, made, FolderBlobs(tmp_path / "blobs"), bus, ChildPages(App(), made, ())
    )
    yield journal
    await journal.close()


def note(percent: int) -> ProgressNote:
    return ProgressNote(percent, "", None)


def step(path: str, text: str = '"x"') -> NewStep:
    return NewStep(path, path, "hash", text, 1)


async def test_at_most_four_notes_a_second_are_kept_and_the_latest_wins(
    journal: ClaimJournal, store: Notebook
) -> None:
    began = time.monotonic()
    for percent in range(50):
        await journal.note(note(percent))
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.6)
    assert 2 <= len(store.notes) <= 2 + 4 * (time.monotonic() - began)
    assert len(store.notes) < 50
    assert store.notes[-1].percent == 49
    assert store.notes == sorted(store.notes)


@pytest.mark.parametrize(("saved", "told"), [(2, [40, 30]), (0, [10, 40, 30])])
async def test_a_replay_tells_nothing_again_until_it_is_where_it_was(
    store: Notebook, bus: MemoryBus, tmp_path: Path, saved: int, told: list[int]
) -> None:
    made: Any = store
    claim = CLAIM._replace(progress=40, saved_steps=saved)
    journal = ClaimJournal(
        claim, made, FolderBlobs(tmp_path / "blobs"), bus, ChildPages(App(), made, ())
    )
    for percent in (10, 40):
        await journal.note(note(percent))
        await asyncio.sleep(0.3)
    await journal.save(step("new"))
    await journal.note(note(30))
    await asyncio.sleep(0.3)
    assert [n.percent for n in store.notes] == told
    await journal.close()


async def test_a_note_that_waits_goes_with_the_next_step(
    journal: ClaimJournal, store: Notebook
) -> None:
    await journal.note(note(1))
    await asyncio.sleep(0.05)
    await journal.note(note(2))
    await journal.save(step("one"))
    await journal.save(step("two"))
    await asyncio.sleep(0.4)
    assert [n.percent for n in store.notes] == [1]
    assert [(c.path, n and n.percent) for c, n in store.checkpoints] == [("one", 2), ("two", None)]


async def test_a_step_waits_for_a_note_that_is_being_written(
    journal: ClaimJournal, store: Notebook
) -> None:
    store.busy.clear()
    await journal.note(note(1))
    await asyncio.sleep(0.05)
    await journal.note(note(2))
    saving = asyncio.create_task(journal.save(step("one")))
    await asyncio.sleep(0.05)
    assert not store.checkpoints
    store.busy.set()
    await saving
    assert [n.percent for n in store.notes] == [1]
    assert store.checkpoints[0][1] == note(2)


async def test_the_last_note_is_handed_to_the_end_and_nothing_is_written_after_it(
    journal: ClaimJournal, store: Notebook
) -> None:
    await journal.note(note(1))
    await asyncio.sleep(0.05)
    await journal.note(note(2))
    assert await journal.close() == note(2)
    writes = (
        journal.note(note(3)),
        journal.save(step("late")),
        journal.emit("late", "text"),
        journal.attach("late", "text/plain", b""),
    )
    for write in writes:
        with pytest.raises(LeaseLost):
            await write
    await asyncio.sleep(0.4)
    assert [n.percent for n in store.notes] == [1]


async def test_a_write_is_tried_again_until_it_is_taken(
    journal: ClaimJournal, store: Notebook
) -> None:
    store.errors = [StoreUnavailable("full"), StoreUnavailable("full")]
    await journal.save(step("one"))
    assert [c.path for c, _ in store.checkpoints] == ["one"]
    assert journal.progressed


@pytest.mark.parametrize("error", [LeaseLost("gone"), Unwritable("never")])
async def test_a_write_that_never_will_be_taken_is_not(
    error: Exception, journal: ClaimJournal, store: Notebook
) -> None:
    store.errors = [error]
    with pytest.raises(type(error)):
        await journal.save(step("one"))
    assert not journal.progressed


async def test_progress_that_is_not_taken_harms_nothing(
    journal: ClaimJournal, store: Notebook
) -> None:
    store.errors = [StoreUnavailable("full")]
    await journal.note(note(1))
    await asyncio.sleep(0.05)
    await journal.note(note(2))
    await asyncio.sleep(0.4)
    assert [n.percent for n in store.notes] == [2]


async def test_what_is_retried_waits_longer_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    left = [StoreUnavailable("full")] * 12

    async def call() -> str:
        if left:
            raise left.pop()
        return "taken"

    assert await insist(call) == "taken"
    assert all(0.05 <= wait <= 5 for wait in waits)
    assert max(waits[:3]) < min(waits[8:])


async def test_a_large_result_is_kept_as_a_blob_and_found_again(
    journal: ClaimJournal, store: Notebook, bus: MemoryBus, tmp_path: Path
) -> None:
    text = '"' + "é" * 50_000 + '"'
    await journal.save(step("large", text))
    value = store.checkpoints[0][0].value
    assert (value.text, value.size) == (None, 100_002)
    made: Any = store
    later = ClaimJournal(
        CLAIM._replace(saved_steps=1),
        made,
        FolderBlobs(tmp_path / "blobs"),
        bus,
        ChildPages(App(), made, ()),
    )
    found = await later.find("large")
    assert found is not None
    assert found.text == text
    assert await later.find("other") is None


async def test_a_step_of_this_very_claim_is_found_again(journal: ClaimJournal) -> None:
    assert await journal.find("one") is None
    await journal.save(step("one", "1"))
    found = await journal.find("one")
    assert found is not None
    assert found.text == "1"
    assert await journal.find("two") is None


async def test_text_is_merged_and_its_offsets_are_without_gaps(
    journal: ClaimJournal, bus: MemoryBus
) -> None:
    ear = Ear()
    bus.listen(ear)
    began = time.monotonic()
    for n in range(60):
        await journal.emit("talk", f"{n} ")
        await asyncio.sleep(0.005)
    await asyncio.sleep(0.1)
    text = "".join(token.text for token in ear.tokens)
    assert text == "".join(f"{n} " for n in range(60))
    assert 2 <= len(ear.tokens) <= 2 + 20 * (time.monotonic() - began)
    assert len(ear.tokens) < 60
    offset = 0
    for token in ear.tokens:
        assert token.offset == offset
        offset += len(token.text)
    kept = bus.kept("task-1")
    assert kept is not None
    assert kept.text == text
    await journal.save(step("talk"))
    assert bus.kept("task-1") is None


async def test_who_sends_text_without_a_pause_is_slowed_down(
    journal: ClaimJournal, bus: MemoryBus
) -> None:
    ear = Ear()
    bus.listen(ear)
    turns = 0

    async def neighbour() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(neighbour())
    for _ in range(20):
        await journal.emit("talk", "x" * 10_000)
    beside.cancel()
    assert turns > 0
    await journal.close()
    await asyncio.sleep(0.05)
    assert sum(len(token.text) for token in ear.tokens) == 200_000
    assert max(len(token.text) for token in ear.tokens) <= 80_000


async def test_artifacts_are_written_from_bytes_and_files(
    journal: ClaimJournal, store: Notebook, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"y" * 600_000)
    await journal.attach("a", "text/plain", b"")
    await journal.attach("b", "text/plain", tmp_path / "file")
    assert [(a.name, a.size) for a in store.attached] == [("a", 0), ("b", 600_000)]


@pytest.mark.parametrize("name", ["missing", "folder"])
async def test_a_file_that_cannot_be_read_is_told_at_once(
    name: str, journal: ClaimJournal, store: Notebook, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    async with asyncio.timeout(10):
        with pytest.raises(ValueError, match="can't be read"):
            await journal.attach("a", "text/plain", tmp_path / name)
    assert not store.attached


def journal_with(codec: BodyCodec, tmp_path: Path) -> ClaimJournal:
    made: Any = Notebook()
    pages = ChildPages(App(), made, ())
    return ClaimJournal(
        CLAIM, made, FolderBlobs(tmp_path / "blobs"), MemoryBus(), pages, codec=codec
    )


@pytest.mark.parametrize("length", [10, 13_000, 100_000])
async def test_a_body_is_kept_encrypted_and_hashed_plain(tmp_path: Path, length: int) -> None:
    journal = journal_with(BodyCodec(BodyKeys({"k": bytes(32)})), tmp_path)
    text = f'"{"x" * length}"'
    body = await journal.body(text)
    assert (body.sha256, body.size) == (hashlib.sha256(text.encode()).hexdigest(), length + 2)
    assert (body.text is None) is (length > 10_000)
    assert "xxxx" not in (body.text or "")
    assert all(b"xxxx" not in each.read_bytes() for each in tmp_path.rglob("*") if each.is_file())
    assert await journal.body_text(body) == text
    with pytest.raises(CallFailed, match="no keys are set") as caught:
        await journal_with(BodyCodec(), tmp_path).body_text(body)
    assert caught.value.kind == FailureKind.CONFIG


async def test_a_text_that_can_t_be_redacted_is_not_kept(tmp_path: Path) -> None:
    def broken(_: str) -> str:
        raise RuntimeError("secret text")

    with pytest.raises(
        CallFailed, match=r"STAGEPOST_REDACT names has failed \(RuntimeError\)"
    ) as it:
        await journal_with(BodyCodec(redact=broken), tmp_path).body('"text"')
    assert "secret" not in str(it.value)
