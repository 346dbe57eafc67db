"""The bare limit writes the rows that the engine writes, or it would be no limit of it."""

from pathlib import Path
from typing import Any

import apsw
import pytest

from bench.completed import check_completed
from bench.limit.__main__ import measure as measure_limit
from bench.stagepost_throughput import measure as measure_stagepost
from stagepost.stores.sqlite.folder import DATABASE
from support.shapes import shape

TASKS = 30


def _shapes(database: Path) -> dict[str, set[tuple[Any, ...]]]:
    connection = apsw.Connection(str(database))
    tables = [
        row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type='table'")
    ]
    shapes = {
        table: {tuple(map(shape, row)) for row in connection.execute(f"SELECT * FROM {table}")}
        for table in tables
    }
    indexes = connection.execute("SELECT sql FROM sqlite_schema WHERE type = 'index'").fetchall()
    connection.close()
    return shapes | {"indexes": set(indexes)}


async def test_a_finished_task_of_the_limit_is_one_of_the_engine(tmp_path: Path) -> None:
    await measure_limit(tmp_path, TASKS)
    await measure_stagepost(tmp_path / "engine", TASKS)
    limit, engine = _shapes(tmp_path / "limit.sqlite"), _shapes(tmp_path / "engine" / DATABASE)
    # Where the engine notes that it was asked whether it writes, and a few times for its estimates.
    for table in ("meta", "history"):
        del limit[table], engine[table]
    assert len(limit["tasks"]) == 1
    assert len(limit["events"]) == 3
    assert limit == engine


async def test_a_store_with_less_than_was_measured_is_seen(tmp_path: Path) -> None:
    await measure_limit(tmp_path, TASKS)
    database = tmp_path / "limit.sqlite"
    check_completed(database, "", TASKS)
    connection = apsw.Connection(str(database))
    for change in (
        "DELETE FROM events WHERE (task_id, seq) = (SELECT min(task_id), 2 FROM events)",
        "UPDATE tasks SET status = 'RUNNING' WHERE id = (SELECT min(id) FROM tasks)",
        "DELETE FROM tasks WHERE id = (SELECT min(id) FROM tasks)",
    ):
        with connection:
            connection.execute(change)
        with pytest.raises(SystemExit, match="the store holds"):
            check_completed(database, "", TASKS)
    connection.close()
