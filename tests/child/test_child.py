"""Children: found by name, killed whole, never left behind."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine_kit import handlers
from engine_kit.engine import alive, lines, until
from stagepost.child.frames import Function, find, has_name, main_of_parent, name_of
from stagepost.child.packing import MAIN
from stagepost.child.process import Child, ChildDied, Children

HERE = Path(__file__).parent


def test_a_program_that_holds_the_engine_itself_can_use_what_it_defines(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, HERE / "script.py", tmp_path],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines() == ["COMPLETED 42", "COMPLETED 22"]


def test_functions_are_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    # Whatever other tests have made of this process.
    monkeypatch.delitem(sys.modules, MAIN, raising=False)
    assert find(name_of(handlers.pid_of), None) is handlers.pid_of
    assert find(name_of(Children.close), None) is Children.close
    assert has_name(handlers.pid_of)

    def local() -> None: ...

    for nameless in (lambda: None, local):
        assert not has_name(nameless)
        with pytest.raises(ValueError, match="top level of its module"):
            name_of(nameless)
    with pytest.raises(ImportError, match="interactive"):
        find(Function("__main__", "anything"), None)


def test_what_the_parent_was_started_with_is_known() -> None:
    assert (main_of_parent() or "").partition(":")[0] in {"module", "file"}


async def test_no_child_outlives_its_parent_that_was_killed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = f"""
import asyncio
from engine_kit.handlers import hang
from stagepost.child.process import Child
async def main():
    child = await Child.start()
    await child.run_function(hang, ({str(log)!r},), {{}})
asyncio.run(main())"""
    parent = subprocess.Popen(  # noqa: ASYNC220  # it takes no time
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(HERE.parent)},
    )
    try:
        await until(lambda: lines(log))
    finally:
        parent.kill()
        parent.wait(10)
    child = int(lines(log)[0])
    await until(lambda: not alive(child))


async def test_work_that_is_cancelled_takes_its_child_with_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    children = Children()
    working = asyncio.create_task(children.run_function(handlers.hang, (str(log),), {}))
    await until(lambda: lines(log))
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    await until(lambda: not alive(int(lines(log)[0])))
    assert await children.run_function(handlers.pid_of, (), {}) > 0
    await children.close()


async def test_a_start_that_is_cancelled_leaves_no_process() -> None:
    before = _children()
    for _ in range(5):
        starting = asyncio.create_task(Child.start())
        await asyncio.sleep(0)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
    await until(lambda: _children() <= before)


async def test_a_child_that_dies_says_how() -> None:
    child = await Child.start()
    with pytest.raises(ChildDied, match=f"signal {int(signal.SIGKILL)}"):
        await child.run_function(handlers.kill_me, (), {})
    assert not child.usable


async def test_a_child_that_dies_is_noticed_and_what_it_forked_dies_too(tmp_path: Path) -> None:
    log = tmp_path / "log"
    child = await Child.start()
    with pytest.raises(ChildDied, match=f"signal {int(signal.SIGKILL)}"):
        await child.run_function(handlers.fork_and_die, (str(log),), {})
    await until(lambda: not alive(int(lines(log)[0])))


async def test_arguments_that_cannot_travel_are_told_and_cost_no_child() -> None:
    children = Children()
    with pytest.raises(TypeError, match="between processes"):
        await children.run_function(handlers.pid_of, (handlers.answer_oddly(),), {})
    first = await children.run_function(handlers.pid_of, (), {})
    with pytest.raises(TypeError, match="between processes"):
        await children.run_function(handlers.answer_oddly, (), {})
    assert await children.run_function(handlers.pid_of, (), {}) == first
    await children.close()
    await until(lambda: not alive(first))


def _children() -> set[str]:
    time.sleep(0.01)
    found = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    return {pid for file in found for pid in file.read_text().split() if alive(int(pid))}
