"""Blobs as files: what a crash, a power cut and a full disk leave."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISDIR

import pytest

from stagepost.blobstores.folder import FolderBlobs
from stagepost.errors import NotFound, StoreRefused, StoreUnavailable
from support.leftovers import nothing_left
from support.small_disk import SmallDisk, small_disk
from support.world import new_id, refused


async def one(content: bytes) -> AsyncIterator[bytes]:
    yield content


def files(data: Path) -> list[str]:
    return sorted(path.name for path in data.rglob("*") if path.is_file())


async def test_one_file_a_blob_that_only_its_owner_reads(tmp_path: Path) -> None:
    key = new_id()
    with nothing_left():
        blobs = FolderBlobs(tmp_path / "blobs")
        await blobs.put(key, one(b"x"), limit=1)
        await blobs.close()
    blobs = FolderBlobs(tmp_path / "blobs")
    path = tmp_path / "blobs" / key[-2:] / key
    assert await blobs.path(key) == path
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


async def test_file_and_folders_are_synced_in_order_before_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rename that is on the disk before the file's bytes would be an empty blob."""
    done: list[tuple[str, str]] = []
    fsync, rename = os.fsync, Path.rename

    def synced(handle: int) -> None:
        kind = "folder" if S_ISDIR(os.fstat(handle).st_mode) else "file"
        done.append((kind, Path(f"/proc/self/fd/{handle}").readlink().name))
        fsync(handle)

    def renamed(self: Path, target: Path) -> Path:
        done.append(("rename", target.name))
        return rename(self, target)

    blobs = FolderBlobs(tmp_path / "new" / "blobs")
    monkeypatch.setattr(Path, "rename", renamed)
    monkeypatch.setattr(os, "fsync", synced)
    key = new_id()
    await blobs.put(key, one(b"x" * 100_000), limit=100_000)
    assert done == [
        ("file", f"{key}.partial"),
        ("rename", key),
        ("folder", key[-2:]),
        ("folder", "blobs"),
    ]


def test_a_new_folder_is_synced_into_its_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(
        os, "fsync", lambda handle: synced.append(Path(f"/proc/self/fd/{handle}").readlink())
    )
    FolderBlobs(tmp_path / "a" / "blobs")
    assert {tmp_path, tmp_path / "a"} <= set(synced)


@pytest.mark.parametrize("failing", ["file", "folder"])
async def test_a_blob_that_could_not_be_synced_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    def fail(handle: int) -> None:
        kind = "folder" if S_ISDIR(os.fstat(handle).st_mode) else "file"
        if kind == failing:
            raise OSError(5, "Input/output error")

    blobs = FolderBlobs(tmp_path / "blobs")
    monkeypatch.setattr(os, "fsync", fail)
    key = new_id()
    refusal = await refused(blobs.put(key, one(b"x"), limit=1), StoreUnavailable)
    assert "can't be written (Input/output error)" in str(refusal)
    assert files(tmp_path) == []


CRASH = """
import asyncio, os, sys
from pathlib import Path
from stagepost.blobstores import folder

async def chunks():
    yield b"x" * 100_000

point = sys.argv[3]
blobs = folder.FolderBlobs(Path(sys.argv[1]))
if point == "before the name":
    folder.Path.rename = lambda *_: os._exit(9)
elif point == "before the sync":
    folder.os.fsync = lambda _: os._exit(9)
asyncio.run(blobs.put(sys.argv[2], chunks(), limit=10**6))
os._exit(9)
"""


@pytest.mark.parametrize("point", ["before the sync", "before the name", "after"])
async def test_a_crash_leaves_a_whole_blob_or_none(tmp_path: Path, point: str) -> None:
    key = new_id()
    command = [sys.executable, "-c", CRASH, str(tmp_path / "blobs"), key, point]
    done = await asyncio.to_thread(subprocess.run, command, timeout=60, check=False)
    assert done.returncode == 9
    blobs = FolderBlobs(tmp_path / "blobs")
    if point == "after":
        assert len(await blobs.get(key)) == 100_000
        return
    await refused(blobs.get(key), NotFound)
    await refused(blobs.path(key), NotFound)
    assert files(tmp_path) == [f"{key}.partial"]
    # Whoever sweeps what the store does not refer to gets rid of that as well.
    await blobs.delete(key)
    assert files(tmp_path) == []


@contextmanager
def full(disk: SmallDisk, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """There is no room on the disk; where none may be mounted, none for new files."""
    if os.path.ismount(disk.folder):
        disk.fill()
        yield
        disk.free()
        return
    really_open = os.open
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", lambda *_: really_open("/dev/full", os.O_WRONLY))
        yield


async def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with small_disk(tmp_path / "disk") as disk:
        blobs = FolderBlobs(disk.folder / "blobs")
        kept, key = new_id(), new_id()
        await blobs.put(kept, one(b"kept"), limit=9)
        big = b"x" * 100_000
        with full(disk, monkeypatch):
            refusal = await refused(blobs.put(key, one(big), limit=len(big)), StoreUnavailable)
            assert "No space left on device" in str(refusal)
            await refused(blobs.get(key), NotFound)
            assert await blobs.get(kept) == b"kept"
        await blobs.put(key, one(big), limit=len(big))
        assert files(disk.folder) == sorted([kept, key])


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "blobs").touch()
    with pytest.raises(StoreRefused, match=r"can't be made .*; give this user the right"):
        FolderBlobs(tmp_path / "blobs" / "deeper")


async def test_a_blob_that_cannot_be_read(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path / "blobs")
    key = new_id()
    (tmp_path / "blobs" / key[-2:] / key).mkdir(parents=True)
    await refused(blobs.get(key), StoreUnavailable)
    await refused(anext(aiter(blobs.stream(key))), StoreUnavailable)
    await refused(blobs.delete(key), StoreUnavailable)


async def test_a_sender_that_is_slow_to_fail_leaves_no_open_file(tmp_path: Path) -> None:
    async def breaking() -> AsyncIterator[bytes]:
        yield b"x"
        raise RuntimeError("a fault")

    with nothing_left():
        blobs = FolderBlobs(tmp_path / "blobs")
        for _ in range(5):
            await refused(blobs.put(new_id(), breaking(), limit=9), RuntimeError)
        await blobs.close()
    assert files(tmp_path) == []
