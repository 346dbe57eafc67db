"""Open streams on which nothing happens: what each takes of memory, and all together of the CPU.

Each is on a task of its own that begins in an hour. The server is started anew once the tasks are
submitted, so that it has no memory left over from that.
"""

import argparse
import time
from collections.abc import Sequence

from bench import server
from bench.program import Figures, print_figures, scratch_folder
from bench.server import Server
from bench.stream_reader import StreamReader
from bench.submitter import submit_all

IDLE = 30.0
"""Seconds: each stream gets two comments in that time."""
_SETTLE = 1.0  # seconds
_SLOTS = 8


def stagepost(streams: int, seconds: float) -> Figures:
    """The real server."""
    path = "/api/v1/tasks/noop?delaySeconds=3600"
    with scratch_folder() as folder:
        with server.stagepost(folder, slots=_SLOTS) as running:
            ids = submit_all(running.port, path, [{"number": n} for n in range(streams)])
        with server.stagepost(folder, slots=_SLOTS) as running:
            paths = [f"/api/v1/tasks/{task_id}/progress" for task_id in ids]
            return _watch("stagepost", running, paths, seconds)


def bare(streams: int, seconds: float) -> Figures:
    """The same server, with streams that send comments."""
    with server.bare() as running:
        return _watch("bare endpoint", running, ["/streams"] * streams, seconds)


def _watch(name: str, running: Server, paths: Sequence[str], seconds: float) -> Figures:
    _warm_up(running.port, paths[:1])
    reader = StreamReader(running.port)
    try:
        time.sleep(_SETTLE)
        before, begun = running.resident, time.monotonic()
        reader.open(paths)
        opening = time.monotonic() - begun
        reader.read_until(lambda: False, time.monotonic() + _SETTLE)
        spent, watched = running.cpu, time.monotonic()
        reader.read_until(lambda: False, watched + seconds)
        share = (running.cpu - spent) / (time.monotonic() - watched)
        bytes_ = running.resident - before
    finally:
        reader.close()
    figures = {"KiB a stream": round(bytes_ / 1024 / len(paths), 2), "CPU %": round(100 * share, 2)}
    return Figures(name, figures, f"{len(paths):,} streams, opened in {opening:.1f} s")


def _warm_up(port: int, paths: Sequence[str]) -> None:
    """What the first stream of all makes the process load is no stream's own."""
    reader = StreamReader(port)
    reader.open(paths)
    reader.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("subject", choices=["stagepost", "bare"])
    parser.add_argument("--size", type=int, default=5_000, help="streams")
    parser.add_argument("--idle", type=float, default=IDLE, help="seconds")
    words = parser.parse_args()
    measure = stagepost if words.subject == "stagepost" else bare
    print_figures(measure(words.size, words.idle))


if __name__ == "__main__":
    main()
