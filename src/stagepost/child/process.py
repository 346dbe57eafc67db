"""The parent's side: starts children, gives them work, kills them."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from stagepost.child.frames import (
    Answer,
    Ask,
    Done,
    End,
    Pipe,
    RunFunction,
    RunHandler,
    Start,
    main_of_parent,
    name_of,
)
from stagepost.child.packing import pack, unpack
from stagepost.errors import StagepostError
from stagepost.journal import Journal
from stagepost.running import Stop

_log = logging.getLogger("stagepost.child")

_REAP: Final = 5.0  # seconds that a killed process may take to be gone
_POLL: Final = 0.005  # seconds
_LOOK: Final = 0.25  # seconds between two looks whether a process at work lives
_LAST_WORDS: Final = 0.5  # seconds for what a process that has ended said before


class ChildDied(StagepostError):  # it says what happened
    """A child process ended in the middle of its work."""


class Child:
    """One child process. Made and used in one event loop."""

    def __init__(self, process: "subprocess.Popen[bytes]", pipe: Pipe) -> None:
        self._process = process
        self._pipe = pipe
        self.alive = True

    @property
    def usable(self) -> bool:
        """False once it was killed or has died by itself."""
        return self.alive and not self._has_ended()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @classmethod
    async def start(cls) -> "Child":
        """Start a process; what it needs is imported when its first work comes.

        It is forked from the calling thread, which must outlive it: the kernel kills it when that
        thread ends.
        """
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "stagepost.child", str(theirs.fileno()), str(os.getpid())]
        with theirs:
            process = subprocess.Popen(  # noqa: ASYNC220, S603  # see above; our own interpreter
                command, pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL, process_group=0
            )
        try:
            reader, writer = await asyncio.open_connection(sock=ours)
        except BaseException:
            ours.close()
            process.kill()
            process.wait(_REAP)
            raise
        child = cls(process, Pipe(reader, writer))
        try:
            await child._pipe.send(Start(sys.path, main_of_parent()))
        except BaseException:
            await asyncio.shield(child.kill())
            raise
        return child

    async def run_function(
        self, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """Run a function there. Raises what it raises, and ChildDied."""
        done = await self._work(RunFunction(name_of(fn), pack((args, kwargs))), None)
        if done.raised is not None:
            raise done.raised.error()
        return None if done.returned is None else unpack(done.returned)

    async def run_handler(self, work: RunHandler, journal: Journal) -> Done:
        """Run a handler there, with this journal. Raises ChildDied."""
        return await self._work(work, journal)

    async def end(self, stop: Stop) -> None:
        """Tell the handler that runs there to end; a child that is gone needs no telling."""
        with contextlib.suppress(ConnectionError):
            await self._pipe.send(End(stop))

    def hang_up(self) -> None:
        """Close this end of the pipe."""
        self.alive = False
        self._pipe.writer.close()

    async def kill(self) -> None:
        """End the process at once, with what it has started, and wait until it is gone."""
        self.hang_up()
        # It leads a group of its own. Once it was reaped, its number could be another's.
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
        # Not in one of the event loop's own threads, which handlers may keep busy or have ended.
        try:
            async with asyncio.timeout(_REAP):
                while self._process.poll() is None:  # noqa: ASYNC110  # no event tells of it
                    await asyncio.sleep(_POLL)
        except TimeoutError:
            _log.error("child process %d does not end although it was killed", self.pid)

    async def _work(self, work: RunHandler | RunFunction, journal: Journal | None) -> Done:
        asking: set[asyncio.Task[None]] = set()
        watching = asyncio.create_task(self._hang_up_at_its_end(), name="end of a child")
        try:
            await self._pipe.send(work)
            while (message := await self._pipe.receive()) is not None:
                match message:
                    case Done():
                        return message
                    case Ask() if journal is not None:
                        answer = asyncio.create_task(self._answer(message, journal))
                        asking.add(answer)
                        answer.add_done_callback(asking.discard)
                    case _:
                        raise ChildDied(f"The child process said {type(message).__name__}.")
        except ConnectionError:
            _log.info("child process %d went away", self.pid)
        except BaseException:
            await asyncio.shield(self.kill())
            raise
        finally:
            watching.cancel()
            for answer in asking:
                answer.cancel()
        await self.kill()
        raise ChildDied(f"The process that ran the task has died ({self._ending()}).")

    async def _hang_up_at_its_end(self) -> None:
        # What it has forked may hold its end of the pipe open and live on.
        while not self._has_ended():  # noqa: ASYNC110  # no event tells of it everywhere
            await asyncio.sleep(_LOOK)
        await asyncio.sleep(_LAST_WORDS)
        self.hang_up()

    def _has_ended(self) -> bool:
        if sys.platform == "linux" and self._process.returncode is None:
            # Not reaped by a look, so that its group can still be killed.
            look = os.WEXITED | os.WNOHANG | os.WNOWAIT
            with contextlib.suppress(ChildProcessError):
                return os.waitid(os.P_PID, self.pid, look) is not None
        return self._process.poll() is not None

    def _ending(self) -> str:
        code = self._process.returncode
        return f"exit code {code}" if code is None or code >= 0 else f"signal {-code}"

    async def _answer(self, ask: Ask, journal: Journal) -> None:
        try:
            value = await getattr(journal, ask.method)(*ask.args, **ask.named)
            answer = Answer(ask.number, value)
        except Exception as error:  # noqa: BLE001  # it is the child's to handle
            answer = Answer(ask.number, error=error)
        with contextlib.suppress(ConnectionError):
            await self._pipe.send(answer)


class Children:
    """A worker's children; one that has done its work waits for the next."""

    def __init__(self) -> None:
        self._idle: list[Child] = []
        self._all: set[Child] = set()

    async def take(self) -> Child:
        """A child that nobody uses."""
        while self._idle:
            child = self._idle.pop()
            if child.usable:
                return child
            await self._bury(child)
        child = await Child.start()
        self._all.add(child)
        return child

    def give_back(self, child: Child) -> None:
        """It is free for others, if it lives."""
        if child.usable:
            self._idle.append(child)
        else:
            self._all.discard(child)
            child.hang_up()

    async def _bury(self, child: Child) -> None:
        # It has died while nobody used it, of what others must not be blamed for.
        _log.warning("child process %d has died while it was idle", child.pid)
        self._all.discard(child)
        await child.kill()

    async def run_function(
        self, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """Run a function in a child; when this is cancelled, the child is killed."""
        child = await self.take()
        try:
            return await child.run_function(fn, args, kwargs)
        finally:
            self.give_back(child)

    async def close(self) -> None:
        """Kill them all."""
        await asyncio.gather(*(child.kill() for child in self._all))
        self._all.clear()
        self._idle.clear()
