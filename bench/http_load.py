"""Submits over HTTP by wrk, answered by `stagepost up` or by the bare server."""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import apsw

from bench import server, wrk
from bench.program import Figures, print_figures, scratch_folder
from bench.server import HOST, Server
from stagepost.stores.sqlite.folder import DATABASE

SLOTS = 64
_WARM_UP = 2  # seconds
_CATCH_UP = 120.0  # seconds

_COUNTS = "SELECT count(*), sum(status = 'COMPLETED') FROM tasks"


def stagepost(seconds: int) -> Figures:
    """The durable 202, while the same process runs what was submitted."""
    with scratch_folder() as folder:
        with server.stagepost(folder, slots=SLOTS) as running:
            warm = _warm_up(running, seconds)
            found = wrk.load(_url(running), seconds)
            done = _counts(folder)[1]
            late = _seconds_until(lambda: len(set(_counts(folder))) == 1)
        tasks, completed = _counts(folder)
    # A request that wrk broke off at its end may have made a task.
    spare = tasks - warm - found["requests"]
    if not 0 <= spare <= 2 * wrk.CONNECTIONS or completed != tasks:
        raise SystemExit(f"{tasks} tasks, {completed} completed, of {found} and {warm} before")
    at_the_end = (
        f"{done:,} of {tasks:,} tasks were completed when wrk ended, all {late:.1f} s later"
    )
    notes = f"{SLOTS} slots; {at_the_end}"
    return Figures("stagepost over HTTP", _figures(found), notes)


def bare(seconds: int) -> Figures:
    """The same server with a constant answer."""
    with server.bare() as running:
        _warm_up(running, seconds)
        found = wrk.load(_url(running), seconds)
    return Figures("constant answer", _figures(found))


def _warm_up(running: Server, seconds: int) -> int:
    return wrk.load(_url(running), min(_WARM_UP, seconds))["requests"]


def _url(running: Server) -> str:
    return f"http://{HOST}:{running.port}/api/v1/tasks/noop"


def _figures(found: dict[str, int]) -> dict[str, float]:
    """By wrk's own count and clock."""
    figures = {"submits/s": round(found["requests"] * 1e6 / found["us"], 1)}
    return figures | {f"{name} ms": found[name] / 1e3 for name in ("p50", "p99", "max")}


def _counts(folder: Path) -> tuple[int, int]:
    """How many tasks there are, and how many of them are completed."""
    connection = apsw.Connection(str(folder / DATABASE), flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(5_000)
    row = connection.execute(_COUNTS).fetchall()[0]
    connection.close()
    return int(row[0] or 0), int(row[1] or 0)


def _seconds_until(reached: Callable[[], bool]) -> float:
    started = time.monotonic()
    while not reached():
        if time.monotonic() - started > _CATCH_UP:
            raise SystemExit(f"not all tasks were completed {_CATCH_UP:.0f} s after the load")
        time.sleep(0.2)
    return time.monotonic() - started


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("subject", choices=["stagepost", "bare"])
    parser.add_argument("--size", type=int, default=10, help="seconds")
    words = parser.parse_args()
    measure = stagepost if words.subject == "stagepost" else bare
    print_figures(measure(words.size))


if __name__ == "__main__":
    main()
