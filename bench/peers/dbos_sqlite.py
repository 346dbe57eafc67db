"""DBOS on SQLite, the store that it takes by default.

Workflows started one by one in the process that runs them (300/s; through a queue polled each 10 ms
260/s). A task is done when its row says SUCCESS, committed in SQLite's default journal mode with
synchronous=FULL, which DBOS leaves as it is.
"""

import argparse
import asyncio
import sqlite3
import time
from pathlib import Path

from dbos import DBOS

from bench.peers.load import from_coroutines
from bench.program import Measured, print_measured, scratch_folder

_TIMEOUT = 600.0


@DBOS.workflow()
async def noop(number: int) -> None:
    del number


async def measure(store: Path, tasks: int) -> Measured:
    url = f"sqlite:///{store}"
    DBOS(config={"name": "bench", "system_database_url": url, "log_level": "ERROR"})
    DBOS.launch()
    started = time.monotonic()
    handles = []

    async def submit(number: int) -> None:
        handles.append(await DBOS.start_workflow_async(noop, number))

    await from_coroutines(submit, tasks)
    await _all_succeeded(store, tasks)
    seconds = time.monotonic() - started
    return Measured("dbos-sqlite", tasks, seconds, durable=True, notes="start_workflow_async")


async def _all_succeeded(store: Path, tasks: int) -> None:
    """Asked rarely: counting takes the file from the writers."""
    counting = "SELECT count(*) FROM workflow_status WHERE status = 'SUCCESS'"
    last = time.monotonic() + _TIMEOUT
    connection = sqlite3.connect(store, timeout=30)
    while connection.execute(counting).fetchone() != (tasks,):
        if time.monotonic() > last:
            raise SystemExit("the workflows did not all succeed in time")
        await asyncio.sleep(0.05)
    connection.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=1_000, help="tasks")
    words = parser.parse_args()
    with scratch_folder() as folder:
        print_measured(asyncio.run(measure(folder / "dbos.sqlite", words.size)))
        DBOS.destroy()


if __name__ == "__main__":
    main()
