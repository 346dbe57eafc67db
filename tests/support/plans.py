"""The plans of PostgreSQL's statements."""

from stagepost.stores.postgres.connections import Backend


async def plan_of(backend: Backend, statement: str) -> list[str]:
    """What a connection that uses the statement for the first time would do."""
    await backend.execute(f"PREPARE planned AS {statement}")
    parameters = ", ".join(["NULL"] * statement_parameters(statement))
    asked = f"({parameters})" if parameters else ""
    rows = await backend.fetch(f"EXPLAIN (COSTS OFF) EXECUTE planned {asked}")
    await backend.execute("DEALLOCATE planned")
    return [row[0].strip() for row in rows]


def statement_parameters(statement: str) -> int:
    """How many parameters it has."""
    return max((number for number in range(1, 30) if f"${number}" in statement), default=0)


def wholly_read(plan: list[str]) -> list[str]:
    """The tables of a plan that it reads from their beginning to their end."""
    return [
        node.split(" on ")[1].split()[0]
        for node, after in zip(map(_node, plan), [*plan[1:], ""], strict=True)
        if _scans(node) and not after.startswith(("Index Cond", "TID Cond", "Recheck Cond"))
    ]


def _node(line: str) -> str:
    return line.removeprefix("->").strip()


def _scans(node: str) -> bool:
    return node.startswith(("Seq Scan", "Index Scan", "Index Only Scan", "Bitmap Heap Scan"))
