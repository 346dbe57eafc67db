"""What makes a process fast from its first task on: its connections, with their large statements.

The first execution of such a statement on a connection costs the server some 10 ms, for parsing and
planning. Here each is executed with nothing to do.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from stagepost.stores.postgres import checkpoints, claiming, plain_submits, settling
from stagepost.stores.postgres.connections import Connections
from stagepost.stores.postgres.rows import Idle

_OF_API: Final[Mapping[str, Sequence[Idle]]] = {"submits": [plain_submits.IDLE]}
_OF_WORKERS: Final[Mapping[str, Sequence[Idle]]] = {
    "claims": [claiming.IDLE],
    "writes": [settling.IDLE, checkpoints.IDLE],
}


async def warm(connections: Connections, *, workers: bool) -> None:
    """Make the connections of submits, and of `workers` if any work here. Raises what they do."""
    for purpose, statements in ({**_OF_API, **_OF_WORKERS} if workers else _OF_API).items():
        async with connections.one(purpose) as backend:
            for statement, parameters in statements:
                await backend.fetch(statement, *parameters)
