"""The bare limit of the embedded store: no-op tasks by group commit, and nothing but that."""

import argparse
import asyncio
import time
from pathlib import Path

import apsw
import uuid_utils
import uvloop

from bench.limit import schema
from bench.limit.writer import Row, Writer
from bench.program import Measured, print_measured, scratch_folder

IN_FLIGHT = 1_000


async def measure(folder: Path, tasks: int) -> Measured:
    """From the first submit to the last durable completion."""
    path = folder / "limit.sqlite"
    last_finished = asyncio.get_running_loop().create_future()
    done = 0

    def committed(claimed: list[Row], finished: int) -> None:
        nonlocal done
        done += finished
        if claimed:
            writer.finish([[task, 1, "null"] for _, _, task in claimed])
        if done == tasks:
            last_finished.set_result(time.perf_counter())

    writer = Writer(path, claim_most=IN_FLIGHT, committed=committed)
    await asyncio.sleep(0.2)
    started = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for first in range(IN_FLIGHT):
            group.create_task(_submitter(writer, range(first, tasks, IN_FLIGHT)))
        await asyncio.wait(
            {writer.ended, last_finished}, timeout=300, return_when="FIRST_COMPLETED"
        )
    await writer.close()
    seconds = last_finished.result() - started
    _check(path, tasks)
    notes = f"{writer.commits} commits, SQLite {apsw.sqlite_lib_version()}, synchronous=FULL"
    return Measured(name="limit", tasks=tasks, seconds=seconds, durable=True, notes=notes)


async def _submitter(writer: Writer, numbers: range) -> None:
    for number in numbers:
        deadline = time.time_ns() // 1_000_000 + 86_400_000
        task = str(uuid_utils.uuid7())
        row = [
            task,
            "local",
            "local",
            "noop",
            "interactive",
            1,
            0,
            4,
            deadline,
            f'{{"n":{number}}}',
        ]
        await writer.submit(row)


def _check(path: Path, tasks: int) -> None:
    """The file itself says that every row is there."""
    counts = apsw.Connection(str(path)).execute(schema.COUNTS).fetchall()[0]
    if counts != (tasks, 0, 3 * tasks):
        raise SystemExit(f"the store holds {counts}, not {(tasks, 0, 3 * tasks)}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=20_000)
    words = parser.parse_args()
    with scratch_folder() as folder:
        print_measured(uvloop.run(measure(folder, words.tasks)))


main()
