"""The bare limit of the embedded store: no-op tasks by group commit, and nothing but that."""

import argparse
import asyncio
import time
from pathlib import Path

import apsw
import uuid_utils
import uvloop

from bench.completed import check_completed
from bench.limit.writer import QUEUE, Row, Writer
from bench.program import Measured, print_measured, scratch_folder
from stagepost import interpreter

IN_FLIGHT = 1_000


async def measure(folder: Path, tasks: int) -> Measured:
    """From the first submit to the last durable completion."""
    path = folder / "limit.sqlite"
    last_finished = asyncio.get_running_loop().create_future()
    done = 0

    def committed(claimed: list[Row], at: int, finished: int) -> None:
        nonlocal done
        done += finished
        if claimed:
            writer.finish([[id_, 1, "null", 4, trace_id(id_), at] for *_, id_ in claimed])
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
    check_completed(path, "", tasks)
    notes = f"{writer.commits} commits, SQLite {apsw.sqlite_lib_version()}, synchronous=FULL"
    return Measured(name="limit", tasks=tasks, seconds=seconds, durable=True, notes=notes)


async def _submitter(writer: Writer, numbers: range) -> None:
    for number in numbers:
        task = str(uuid_utils.uuid7())
        lane, tenant, type_name = QUEUE
        who = (task, tenant, "local", type_name, lane)
        await writer.submit([*who, f'{{"number":{number}}}', 4, 86_400_000, trace_id(task)])


def trace_id(task: str) -> str:
    """As the engine makes it of a task that brings none."""
    return task.replace("-", "")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=20_000, help="tasks")
    words = parser.parse_args()
    interpreter.tune()  # as the engine's process
    with scratch_folder() as folder:
        print_measured(uvloop.run(measure(folder, words.size)))


if __name__ == "__main__":
    main()
