"""The child: what it may do, and that it never outlives or outweighs its document."""

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psutil
import pytest
import uvloop

from stagepost import InvalidInput
from stagepost.tasks.documents import (
    Document,
    Limits,
    SandboxFailed,
    read_document,
    sandbox_capabilities,
)
from tasks.documents import making

MIB = 1024 * 1024


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """A small PDF that keeps its reader busy for longer than any test."""
    path = tmp_path / "endless.pdf"
    path.write_bytes(making.form_bomb())
    return path


@asynccontextmanager
async def reading(
    path: Path, limits: Limits
) -> AsyncIterator[tuple[asyncio.Task[Document], psutil.Process]]:
    """A reading under way, with its child once that is behind its walls."""
    task = asyncio.create_task(read_document(path, name="endless", limits=limits))
    child = await asyncio.wait_for(_locked_down_child(), 20)
    yield task, child
    assert task.done()
    assert not child.is_running()
    assert child.pid not in {other.pid for other in psutil.Process().children()}


async def _locked_down_child() -> psutil.Process:
    while True:
        for child in psutil.Process().children():
            with suppress(FileNotFoundError, psutil.Error):  # another one that ends just now
                status = Path(f"/proc/{child.pid}/status").read_text()
                if "NoNewPrivs:\t1" in status and child.cpu_times().user > 0.3:
                    return child
        await asyncio.sleep(0.01)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_every_wall_stands_on_linux() -> None:
    walls = await sandbox_capabilities()
    assert walls.memory_limit
    assert walls.cpu_limit
    assert walls.parent_death_signal
    assert walls.no_new_privileges


async def test_the_child_sees_nothing_of_its_parent(
    endless: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_PARENT", "1")
    with endless.open("rb") as inherited:
        os.set_inheritable(inherited.fileno(), True)
        async with reading(endless, Limits()) as (task, child):
            folder = Path(f"/proc/{child.pid}")
            assert (folder / "environ").read_bytes() == b"LC_ALL=C.UTF-8\0"
            # Gone already: a parent that is killed leaves nothing behind.
            assert str((folder / "cwd").readlink()).endswith(" (deleted)")
            assert {entry.name for entry in (folder / "fd").iterdir()} == {"0", "1", "2"}
            capabilities = (folder / "status").read_text()
            assert "CapEff:\t0000000000000000" in capabilities
            limits = (folder / "limits").read_text()
            assert f"Max address space         {1024 * MIB}" in limits
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task


async def test_the_child_has_no_network_where_the_kernel_allows(endless: Path) -> None:
    walls = await sandbox_capabilities()
    async with reading(endless, Limits()) as (task, child):
        own, childs = (Path(f"/proc/{pid}/ns/net").readlink() for pid in ("self", child.pid))
        assert (own != childs) == walls.network_namespace
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_child_that_does_not_move_is_killed_after_the_wall_time(endless: Path) -> None:
    async with reading(endless, Limits(wall_seconds=3)) as (task, child):
        child.send_signal(signal.SIGSTOP)
        with pytest.raises(InvalidInput, match="took too long"):
            await task


async def test_a_child_that_burns_the_processor_is_ended_by_the_kernel(endless: Path) -> None:
    with pytest.raises(InvalidInput, match="took too long"):
        await read_document(endless, name="endless", limits=Limits(cpu_seconds=1))


@pytest.mark.parametrize("crash", [signal.SIGSEGV, signal.SIGABRT, signal.SIGTRAP])
async def test_a_crash_is_the_documents_fault(endless: Path, crash: signal.Signals) -> None:
    async with reading(endless, Limits()) as (task, child):
        child.send_signal(crash)
        with pytest.raises(InvalidInput, match="damaged or built to break its reader"):
            await task


async def test_a_kill_from_outside_is_not_the_documents_fault(endless: Path) -> None:
    async with reading(endless, Limits()) as (task, child):
        child.kill()
        with pytest.raises(SandboxFailed, match="exit -9"):
            await task


async def test_a_sandbox_that_can_not_start_is_not_the_documents_fault(endless: Path) -> None:
    with pytest.raises(SandboxFailed, match="could not do its work"):
        await read_document(endless, name="x", limits=Limits(memory=8 * MIB))


async def test_cancelling_kills_and_reaps_and_leaks_nothing(endless: Path) -> None:
    await sandbox_capabilities()  # the loop's own descriptors for children are made once
    before = open_files()
    for _ in range(3):
        async with reading(endless, Limits()) as (task, _child):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
    assert open_files() == before


async def test_memory_past_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    path.write_bytes(b"word " * 20 * MIB)
    with pytest.raises(InvalidInput, match="more than 200 MiB of memory"):
        await read_document(path, name="x", limits=Limits(memory=200 * MIB, characters=2**30))


MEASURED = """
import asyncio, resource, sys
from pathlib import Path
from stagepost import InvalidInput
from stagepost.tasks.documents import read_document
try:
    asyncio.run(read_document(Path(sys.argv[1]), name="bomb"))
except InvalidInput as refusal:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, refusal)
"""


@pytest.mark.parametrize("bomb", ["flate", "zip"])
def test_a_bomb_stays_under_a_gibibyte(tmp_path: Path, bomb: str) -> None:
    path = tmp_path / "bomb"
    zipped = making.docx(f"<w:p><w:r><w:t>{' ' * 200_000_000}</w:t></w:r></w:p>")
    path.write_bytes(making.flate_bomb(1024) if bomb == "flate" else zipped)
    # wait4 tells the peak of the largest child that was waited for: a process of its own asks.
    run = subprocess.run(
        [sys.executable, "-c", MEASURED, path],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    kibibytes, _, refusal = run.stdout.partition(" ")
    assert "unpacks to far more data" in refusal
    assert 0 < int(kibibytes) * 1024 < 1024 * MIB


async def test_many_at_once_do_not_disturb_each_other(tmp_path: Path, endless: Path) -> None:
    good = tmp_path / "good.pdf"
    good.write_bytes(making.pdf("The parties agree."))
    hostile = read_document(endless, name="x", limits=Limits(cpu_seconds=1))
    honest = [read_document(good, name="good") for _ in range(4)]
    outcomes = await asyncio.gather(hostile, *honest, return_exceptions=True)
    assert isinstance(outcomes[0], InvalidInput)
    assert [getattr(found, "text", found) for found in outcomes[1:]] == ["The parties agree."] * 4


@pytest.mark.parametrize("new_loop", [uvloop.new_event_loop, asyncio.new_event_loop])
def test_other_loops_in_other_threads_work_too(
    tmp_path: Path, new_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    path = tmp_path / "contract.txt"
    path.write_text("The parties agree.")

    def read() -> str:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            return runner.run(read_document(path, name="x")).text

    with ThreadPoolExecutor(2) as pool:
        assert [pool.submit(read).result(30) for _ in range(3)] == ["The parties agree."] * 3


@pytest.mark.parametrize("seed", range(12))
async def test_a_mutated_pdf_is_read_or_refused(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    mutant = bytearray(making.pdf("The parties agree.", "They agree again."))
    for _ in range(chance.randint(1, 40)):
        mutant[chance.randrange(len(mutant))] = chance.randrange(256)
    path = tmp_path / "mutant.pdf"
    path.write_bytes(mutant)
    with suppress(InvalidInput):
        assert (await read_document(path, name="mutant")).text
