"""What a store's file itself says about the tasks of a run."""

from pathlib import Path

import apsw

_COUNTS = """
SELECT count(*), sum(status = 'COMPLETED' AND worker_id IS NULL AND seq = 3),
    (SELECT count(*) FROM pool),
    (SELECT count(*) FROM (SELECT count(*) AS n FROM events WHERE task_id > :after
        GROUP BY task_id) WHERE n = 3)
FROM tasks WHERE id > :after
"""


def check_completed(database: Path, after: str, tasks: int) -> None:
    """See that so many tasks with ids behind `after` are completed, each with its three events.

    Raises SystemExit, for a figure of tasks that are not there is none.
    """
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    counts = connection.execute(_COUNTS, {"after": after}).fetchall()[0]
    connection.close()
    if counts != (tasks, tasks, 0, tasks):
        raise SystemExit(
            f"the store holds {counts} tasks, completed ones, pooled ones, ones with three events; "
            f"not {(tasks, tasks, 0, tasks)}"
        )
