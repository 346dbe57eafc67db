"""A database of its own for each run on PostgreSQL, and what it says of the tasks of a run."""

import asyncpg

_COUNTS = """
SELECT count(*), count(*) FILTER (WHERE status = 'COMPLETED' AND worker_id IS NULL AND seq = 3),
    (SELECT count(*) FROM {schema}.pool), (SELECT count(*) FROM (
        SELECT count(*) AS n FROM {schema}.events GROUP BY task_id) AS told WHERE n = 3)
FROM {schema}.tasks
"""


async def fresh_database(url: str, name: str) -> str:
    """The address of an empty database of that name, beside the one in `url`."""
    connection = await asyncpg.connect(url)
    await connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
    await connection.execute(f'CREATE DATABASE "{name}"')
    await connection.close()
    return f"{url.rpartition('/')[0]}/{name}"


async def check_completed(url: str, tasks: int, schema: str = "stagepost") -> None:
    """See that so many tasks are completed, each with its three events.

    Raises SystemExit, for a figure of tasks that are not there is none.
    """
    connection = await asyncpg.connect(url)
    counts = tuple(await connection.fetchrow(_COUNTS.format(schema=schema)))
    await connection.close()
    if counts != (tasks, tasks, 0, tasks):
        raise SystemExit(
            f"the store holds {counts} tasks, completed ones, pooled ones, ones with three events; "
            f"not {(tasks, tasks, 0, tasks)}"
        )


async def hot_updates(url: str, schema: str = "stagepost") -> str:
    """The share of the tasks' updates that touched no index, in words."""
    connection = await asyncpg.connect(url)
    row = await connection.fetchrow(
        """SELECT n_tup_hot_upd, n_tup_upd FROM pg_stat_user_tables
           WHERE schemaname = $1 AND relname = 'tasks'""",
        schema,
    )
    await connection.close()
    return f"{100 * row[0] / max(row[1], 1):.0f} % HOT"
