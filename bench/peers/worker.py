"""The worker process of a peer, seen from both sides of its pipe.

A peer's module run with `worker N` is that peer's one worker process. It says `ready`, and later
the monotonic time, which Linux shares between processes, at which the N-th task was done.
"""

import argparse
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

_SAY = "BENCH_SAY"
_PATIENCE = 600.0


class WorkerProcess:
    """Runs from `with` to its end; killed then, as nothing after that is measured."""

    def __init__(self, module: str, tasks: int) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="bench-")
        # A named pipe, because some peers close or redirect what they inherit.
        pipe = Path(self._folder.name) / "say"
        os.mkfifo(pipe)
        self._reader = os.fdopen(os.open(pipe, os.O_RDWR), "r", encoding="ascii")
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, "worker", "--size", str(tasks)],
            env={**os.environ, _SAY: str(pipe)},
            stdout=subprocess.DEVNULL,
        )

    def __enter__(self) -> Self:
        self._said()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.close()
        self._folder.cleanup()

    def done_at(self) -> float:
        """Wait for the last task; the monotonic time at which it was done."""
        return float(self._said())

    def stamps(self) -> list[float]:
        """Wait for the last task; how long each took to its handler, in milliseconds."""
        return [float(text) for text in self._said().split()]

    def _said(self) -> str:
        last = time.monotonic() + _PATIENCE
        while not select.select([self._reader], [], [], 0.5)[0]:
            if self._process.poll() is not None or time.monotonic() > last:
                raise SystemExit(f"the worker said nothing; exit code {self._process.poll()}")
        return self._reader.readline().strip()


class Countdown:
    """Counts the tasks that are done, in the worker process; from any thread."""

    def __init__(self, tasks: int) -> None:
        self._left = tasks
        self._lock = threading.Lock()

    def one(self) -> None:
        with self._lock:
            self._left -= 1
            left = self._left
        if left == 0:
            say(repr(time.monotonic()))


class Stamps:
    """Notes how long each task took to its handler, in the worker process; from any thread."""

    def __init__(self, tasks: int) -> None:
        self._tasks = tasks
        self._seen: list[tuple[int, float]] = []
        self._lock = threading.Lock()

    def one(self, sent: int) -> None:
        """`sent` in nanoseconds of the monotonic clock, which Linux shares between processes."""
        took = (time.monotonic_ns() - sent) / 1e6
        with self._lock:
            self._seen.append((sent, took))
            done = len(self._seen) == self._tasks
        if done:
            say(" ".join(f"{took:.3f}" for _, took in sorted(self._seen)))


def say(line: str) -> None:
    """One line to the process that started this worker."""
    with Path(os.environ[_SAY]).open("w", encoding="ascii") as pipe:
        pipe.write(f"{line}\n")


def run_as(measure: Callable[[int], None], work: Callable[[int], None]) -> None:
    """The command line of a peer: without a word it measures, with `worker` it works."""
    parser = argparse.ArgumentParser()
    parser.add_argument("role", nargs="?", choices=["measure", "worker"], default="measure")
    parser.add_argument("--size", type=int, default=20_000, help="tasks")
    words = parser.parse_args()
    (work if words.role == "worker" else measure)(words.size)
