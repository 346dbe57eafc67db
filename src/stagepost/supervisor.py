"""Keeps one serving process alive: what `stagepost up`, `api` and `worker` run.

The supervisor owns the listening socket, so that connections wait in its backlog while a child that
died is replaced. It knows nothing of tasks; what a dead child had claimed, the next one gives back
when it opens the store.

A child tells over a pipe that its main loop turns (a dot) and that it answers (an `r`). It is
replaced when it dies by a signal, ends with 70, or is silent for too long. Whatever other code it
ends with before its first sign is believed: it has refused. Behind that it may be a handler's,
which must not end the service, and the child is replaced too. It ends with the supervisor, however
that ends (see lifeline).
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import time
from asyncio.subprocess import Process
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from stagepost.supervised import READY, REPLACE_ME

_log = logging.getLogger("stagepost.supervisor")

_TICK: Final = 0.25  # seconds between two looks at a child
_STACK_DUMP: Final = 0.5  # seconds that a hung child has to write where it hangs
_REAP: Final = 10.0  # seconds that a killed child may take to be gone
_READ: Final = 65_536  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long is waited, in seconds.

    `silence` until a child that fell silent is replaced, `start` for its first sign, `drain` for
    its end; `first_delay` before a restart, doubled with each up to `most_delay` until a child has
    lived for `long_life`; so many `starts` in a row, none of which came to answer, are the last.
    """

    silence: float = 30.0
    start: float = 600.0
    drain: float = 60.0
    first_delay: float = 0.1
    most_delay: float = 5.0
    long_life: float = 60.0
    starts: int = 10


@dataclass(slots=True)
class _Life:
    """One child from its start to its end."""

    process: Process
    pulses: int
    began: float = field(default_factory=time.monotonic)
    silent: float = 0.0
    heard: bool = False
    ready: bool = False


class Supervisor:
    """Runs `command` with the socket and the pipe as its last arguments, again and again.

    A child that nobody is to ask gets no socket: -1 stands for it. `announce` is called once, when
    the first child does its work.
    """

    def __init__(
        self,
        command: Sequence[str],
        listener: socket.socket | None,
        announce: Callable[[], None],
        patience: Patience,
    ) -> None:
        self._command = tuple(command)
        self._listener = listener
        self._announce: Callable[[], None] | None = announce
        self._patience = patience
        self._life: _Life | None = None
        self._stop = asyncio.Event()
        self._stop_by = 0.0
        self._asked = 0

    async def run(self) -> int:
        """Supervise until told to stop or refused; returns the exit code."""
        self._obey_signals()
        delay, failed = self._patience.first_delay, 0
        while True:
            life = await self._start()
            code = await self._watch(life)
            if (final := self._final(code, life)) is not None:
                return final
            failed = 0 if life.ready else failed + 1
            if failed == self._patience.starts:
                _log.critical("the server did not come up in %d tries; giving up", failed)
                return REPLACE_ME
            if time.monotonic() - life.began > self._patience.long_life:
                delay = self._patience.first_delay
            _log.warning("the server %s; starting it again in %.1f s", _end(code), delay)
            if await self._stopped_within(delay):
                return 0
            delay = min(delay * 2, self._patience.most_delay)

    def _obey_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            # Under nohup a hang-up is ignored, and stays so.
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, self.stop)

    async def _stopped_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stop.wait()
        return self._stop.is_set()

    def stop(self) -> None:
        """Let the child drain; a second call hurries it, a third ends it at once."""
        self._asked += 1
        if not self._stop.is_set():
            _log.info("stopping; asked once more it hurries, a third time it ends at once")
            self._stop.set()
            self._stop_by = time.monotonic() + self._patience.drain
            # Once the child stops listening too, new connections are refused instead of waiting.
            if self._listener is not None:
                self._listener.close()
        if self._life is not None:
            _send(self._life.process, signal.SIGTERM if self._asked <= 2 else signal.SIGKILL)

    async def _start(self) -> _Life:
        ours, theirs = os.pipe()
        os.set_blocking(ours, False)
        listener = -1 if self._listener is None else self._listener.fileno()
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                *(str(listener), str(theirs), str(os.getpid())),
                stdin=asyncio.subprocess.DEVNULL,
                pass_fds=[shared for shared in (listener, theirs) if shared >= 0],
                # A terminal's Ctrl-C and hang-up reach only the supervisor, which passes them on.
                start_new_session=True,
            )
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        self._life = life = _Life(process, ours)
        asyncio.get_running_loop().add_reader(ours, self._hear, life)
        if self._stop.is_set():
            _send(process, signal.SIGTERM)
        return life

    def _hear(self, life: _Life) -> None:
        said = os.read(life.pulses, _READ)
        if not said:
            asyncio.get_running_loop().remove_reader(life.pulses)
            return
        life.silent, life.heard = 0.0, True
        if READY in said:
            life.ready = True
            announce, self._announce = self._announce, None
            if announce is not None:
                announce()

    async def _watch(self, life: _Life) -> int:
        ended = asyncio.ensure_future(life.process.wait())
        looked = time.monotonic()
        try:
            while not (await asyncio.wait([ended], timeout=_TICK))[0]:
                now = time.monotonic()
                # Time that this process itself was stopped is not the child's silence.
                life.silent += min(now - looked, 2 * _TICK)
                looked = now
                await self._look(life)
            return ended.result()
        finally:
            self._life = None
            with contextlib.suppress(BlockingIOError):
                self._hear(life)  # its last words
            asyncio.get_running_loop().remove_reader(life.pulses)
            os.close(life.pulses)

    async def _look(self, life: _Life) -> None:
        if self._stop.is_set():
            if time.monotonic() > self._stop_by:
                _log.error("the server did not end in time; it is killed")
                await _kill(life.process)
            return
        if life.silent > (self._patience.silence if life.heard else self._patience.start):
            _log.error("the server has been silent for %.0f s; it is replaced", life.silent)
            _send(life.process, signal.SIGUSR1)
            await asyncio.sleep(_STACK_DUMP)
            await _kill(life.process)

    def _final(self, code: int, life: _Life) -> int | None:
        """The supervisor's own exit code, or None for another child."""
        if self._stop.is_set():
            before_it_listened = code == -signal.SIGTERM and not life.heard
            if code == 0 or before_it_listened:
                return 0
            _log.error("the server %s while it drained; the next start goes on", _end(code))
            return 1
        return None if code < 0 or code == REPLACE_ME or life.heard else code


def _end(code: int) -> str:
    if code == REPLACE_ME:
        return "asked to be replaced"
    if code >= 0:
        return f"ended with {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def _send(process: Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(number)


async def _kill(process: Process) -> None:
    # It leads a session of its own, so this ends whatever it started, too. Nobody has reaped it
    # yet, or its number could be another's by now.
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_REAP):
                await process.wait()


def serving_command(*arguments: str) -> list[str]:
    """The command line of a serving child."""
    # -P: what lies in the working folder shadows no module of ours.
    return [sys.executable, "-P", "-m", "stagepost.serve", *arguments]
