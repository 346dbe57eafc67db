"""The supervisor, with children that are small scripts."""

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from stagepost.supervised import REPLACE_ME
from stagepost.supervisor import Patience, Supervisor

QUICK = Patience(silence=30, start=30, drain=10, first_delay=0.01, most_delay=0.02, starts=3)
_LONGEST = 20.0

_PRELUDE = """
import os, signal, socket, sys, time
listener, pipe, parent = map(int, sys.argv[-3:])
folder = sys.argv[1]
number = len(os.listdir(folder)) + 1
open(f"{folder}/{number}", "w").write(str(os.getpid()))
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
say = lambda sign: os.write(pipe, sign)
def live(seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        say(b".")
        time.sleep(0.05)
"""


@dataclass
class Rig:
    """A supervisor over a script; each of its lives leaves a file with its process id."""

    folder: Path
    listener: socket.socket
    announced: list[str] = field(default_factory=list)

    def supervisor(self, script: str, patience: Patience = QUICK) -> Supervisor:
        command = [sys.executable, "-c", _PRELUDE + script, str(self.folder)]
        announce: Callable[[], None] = lambda: self.announced.append("ready")  # noqa: E731
        return Supervisor(command, self.listener, announce, patience)

    async def lives(self, count: int) -> int:
        """Wait for the life of this number; returns its process id."""
        end = time.monotonic() + _LONGEST
        while time.monotonic() < end:
            note = self.folder / str(count)
            if note.exists() and (text := note.read_text()):
                return int(text)
            await asyncio.sleep(0.01)
        raise AssertionError(f"life {count} has not begun")

    async def ready(self) -> None:
        end = time.monotonic() + _LONGEST
        while not self.announced:
            assert time.monotonic() < end, "it was never announced"
            await asyncio.sleep(0.01)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    folder = tmp_path / "lives"
    folder.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield Rig(folder, listener)


async def test_a_child_that_dies_by_a_signal_is_replaced_and_announced_once(rig: Rig) -> None:
    supervisor = rig.supervisor("say(b'r'); live()")
    running = asyncio.create_task(supervisor.run())
    await rig.ready()
    os.kill(await rig.lives(1), signal.SIGKILL)
    await rig.lives(2)
    os.kill(await rig.lives(2), signal.SIGSEGV)
    await rig.lives(3)
    supervisor.stop()
    assert await running == 0
    assert rig.announced == ["ready"]


async def test_a_child_that_asks_to_be_replaced_is(rig: Rig) -> None:
    supervisor = rig.supervisor(
        "if number == 6: sys.exit(4)\n"  # more often than the failed starts allowed
        "say(b'r'); sys.exit(70)"
    )
    assert await supervisor.run() == 4
    assert len(list(rig.folder.iterdir())) == 6


@pytest.mark.parametrize("code", [0, 3, 4])
async def test_an_exit_behind_the_first_sign_is_no_refusal(rig: Rig, code: int) -> None:
    # A handler may have called os._exit.
    supervisor = rig.supervisor(f"if number == 2: sys.exit(2)\nsay(b'.'); os._exit({code})")
    assert await supervisor.run() == 2
    assert len(list(rig.folder.iterdir())) == 2


@pytest.mark.parametrize("code", [2, 4])
async def test_a_refusal_is_believed_at_once(rig: Rig, code: int) -> None:
    assert await rig.supervisor(f"sys.exit({code})").run() == code
    assert len(list(rig.folder.iterdir())) == 1
    assert rig.announced == []


async def test_a_server_that_never_comes_up_is_given_up(rig: Rig) -> None:
    assert await rig.supervisor("say(b'.'); os.kill(os.getpid(), 9)").run() == REPLACE_ME
    assert len(list(rig.folder.iterdir())) == QUICK.starts


async def test_a_child_that_falls_silent_is_killed_and_replaced(rig: Rig) -> None:
    patience = Patience(silence=0.5, first_delay=0.01)
    supervisor = rig.supervisor(
        "say(b'r')\n"
        "if number == 1: signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)\n"
        "live()",
        patience,
    )
    running = asyncio.create_task(supervisor.run())
    first = await rig.lives(1)
    await rig.lives(2)
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
    supervisor.stop()
    assert await running == 0


async def test_before_its_first_sign_a_child_may_take_longer(rig: Rig) -> None:
    patience = Patience(silence=0.1, start=30, first_delay=0.01)
    supervisor = rig.supervisor("time.sleep(2); sys.exit(4)", patience)
    assert await supervisor.run() == 4
    assert len(list(rig.folder.iterdir())) == 1


async def test_a_stop_lets_the_child_drain_and_ends_with_0(rig: Rig) -> None:
    supervisor = rig.supervisor(
        "signal.signal(signal.SIGTERM, lambda *_: (live(0.3), os._exit(0)))\nsay(b'r'); live()"
    )
    running = asyncio.create_task(supervisor.run())
    await rig.ready()
    supervisor.stop()
    assert await running == 0
    assert len(list(rig.folder.iterdir())) == 1


async def test_a_second_stop_is_passed_on_and_a_third_kills(rig: Rig, tmp_path: Path) -> None:
    told = tmp_path / "told"
    supervisor = rig.supervisor(
        f"signal.signal(signal.SIGTERM, lambda *_: open({str(told)!r}, 'a').write('x'))\n"
        "say(b'r'); live()"
    )
    running = asyncio.create_task(supervisor.run())
    await rig.ready()
    for count in (1, 2):
        supervisor.stop()
        end = time.monotonic() + _LONGEST
        while not (told.exists() and len(told.read_text()) == count):
            assert time.monotonic() < end
            await asyncio.sleep(0.01)
    supervisor.stop()
    assert await running == 1


async def test_a_drain_that_does_not_end_is_ended(rig: Rig) -> None:
    supervisor = rig.supervisor(
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nsay(b'r'); live()", Patience(drain=0.2)
    )
    running = asyncio.create_task(supervisor.run())
    await rig.ready()
    supervisor.stop()
    assert await running == 1


async def test_a_stop_between_two_lives_starts_no_other(rig: Rig) -> None:
    patience = Patience(first_delay=30, most_delay=30)
    supervisor = rig.supervisor("say(b'r'); os.kill(os.getpid(), 9)", patience)
    running = asyncio.create_task(supervisor.run())
    await rig.ready()
    await asyncio.sleep(0.5)
    supervisor.stop()
    assert await running == 0
    assert len(list(rig.folder.iterdir())) == 1


async def test_connections_wait_while_the_child_is_replaced(rig: Rig) -> None:
    supervisor = rig.supervisor(
        "say(b'r')\n"
        "if number == 1: live()\n"
        "open_one, _ = socket.socket(fileno=listener).accept()\n"
        "open_one.sendall(b'from the second life'); open_one.close(); live()",
    )
    running = asyncio.create_task(supervisor.run())
    await rig.ready()
    os.kill(await rig.lives(1), signal.SIGKILL)
    reader, writer = await asyncio.open_connection(*rig.listener.getsockname())
    async with asyncio.timeout(_LONGEST):
        assert await reader.read() == b"from the second life"
    writer.close()
    supervisor.stop()
    assert await running == 0
