"""From `ctx.progress` to the reader of a stream: many streams, each on a task of its own.

100 ticks a second in all, each task at a moment of its own that was drawn once. Every tick carries
the time at which the handler said it. The first of each task is a warm-up.
"""

import argparse
import random
import time
from collections.abc import Sequence
from urllib.parse import urlencode

from bench import server
from bench.program import Figures, latencies, print_figures, scratch_folder
from bench.stream_reader import StreamReader
from bench.submitter import submit_all

TICKS_A_SECOND = 100
TIMES = 3
_LEAST_EVERY = 0.5  # seconds: of faster ticks of one task some are left out
_BEFORE = 5.0  # seconds until the first tick, beside the one that each hundred streams get
_LATE = 10.0  # seconds that the last tick may take

Wish = dict[str, float]


def stagepost(streams: int) -> Figures:
    """The real server."""
    with scratch_folder() as folder, server.stagepost(folder, slots=streams + 8) as running:
        wishes = _wishes(streams)
        ids = submit_all(running.port, "/api/v1/tasks/tick", wishes)
        paths = [f"/api/v1/tasks/{task_id}/progress" for task_id in ids]
        return _read("stagepost", running.port, paths, wishes)


def bare(streams: int) -> Figures:
    """The same server, with streams that tick by themselves."""
    with server.bare() as running:
        wishes = _wishes(streams)
        paths = [f"/streams?{urlencode(wish)}" for wish in wishes]
        return _read("bare endpoint", running.port, paths, wishes)


def _wishes(streams: int) -> list[Wish]:
    """What each task is asked to do: `bench.apps.Ticks`."""
    every = max(_LEAST_EVERY, streams / TICKS_A_SECOND)
    begin, drawn = time.monotonic() + _BEFORE + streams / 100, random.Random(1)
    return [
        {"first": begin + drawn.random() * every, "every": every, "times": TIMES}
        for _ in range(streams)
    ]


def _read(name: str, port: int, paths: Sequence[str], wishes: Sequence[Wish]) -> Figures:
    begin, every = min(wish["first"] for wish in wishes), wishes[0]["every"]
    reader = StreamReader(port)
    try:
        reader.open(paths)
        spare = begin - time.monotonic()
        if spare < 0:
            raise SystemExit(f"the streams were open {-spare:.1f} s after the first tick")
        expected = TIMES * len(paths)
        last = begin + TIMES * every + _LATE
        reader.read_until(lambda: len(reader.ticks) >= expected, last)
    finally:
        reader.close()
    if sorted(number for number, _ in reader.ticks) != sorted([*range(TIMES)] * len(paths)):
        raise SystemExit(f"{len(reader.ticks)} ticks arrived of {expected}")
    counted = [took for number, took in reader.ticks if number > 0]
    notes = f"{len(paths):,} streams, {TICKS_A_SECOND} ticks/s in all, {len(counted):,} ticks"
    return Figures(name, latencies(counted), notes)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("subject", choices=["stagepost", "bare"])
    parser.add_argument("--size", type=int, default=1_000, help="streams")
    words = parser.parse_args()
    measure = stagepost if words.subject == "stagepost" else bare
    print_figures(measure(words.size))


if __name__ == "__main__":
    main()
