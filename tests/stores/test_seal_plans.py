"""However much is sealed, no verb of the seals reads more than it is about."""

from pathlib import Path
from typing import Any, Final

import pytest

from stagepost.stores.postgres import seals
from stagepost.stores.postgres.address import address_of
from stagepost.stores.postgres.connections import connect
from stagepost.stores.postgres.seals import placed
from stagepost.stores.seals import ReadSeals
from support.plans import plan_of, wholly_read
from support.postgres_worlds import PostgresWorlds
from support.world import a_world, new_id

FILL: Final = """
INSERT INTO seals
    SELECT 'tenant ' || n % 3, n, 1, gen_random_uuid(), gen_random_uuid(), 1, 'd', 'c',
    CASE WHEN n % 100 > 0 THEN 1 END FROM generate_series(1, 3000) AS n;
INSERT INTO seal_entries SELECT tenant, n, 0, first, 'RESULT', 'd' FROM seals;
INSERT INTO unsealed SELECT 'tenant ' || n % 3, gen_random_uuid(), 'RESULT'
    FROM generate_series(1, 3000) AS n;
INSERT INTO calls (task_id, id, tenant, "user", type, path, request_hash, n, provider, model,
    attempt, fence, steps, will_input, will_output, will_cost, redacted, request_sha256,
    request_size, started_at, state)
SELECT gen_random_uuid(), call_id, tenant, 'ada', 'review', 'a', 'b', 0, 'c', 'd', 1, 1,
    1, 1, 1, 1, false, 'e', 1, 1, 'RESULT' FROM seal_entries"""


ALLOWED: Final = {
    "unsent": {"seals"},  # those that no anchor has, by an index of their own
    "scan": {"unsealed"},  # those of the last seconds, which a page of calls is compared with
}


async def asked() -> dict[str, str]:
    """Each verb's statement."""
    seen: list[str] = []

    async def ask(statement: str, values: Any) -> list[Any]:
        del values
        seen.append(statement)
        return []

    reading = ReadSeals(ask, placed)
    await reading.tenants("", 10)
    await reading.waiting_tenants("", 10)
    await reading.chain("a", 1, 10)
    await reading.last("a")
    await reading.held("a", 1)
    await reading.scan(new_id(), 10)
    await reading.unsent(10)
    names = ("tenants", "waiting tenants", "chain", "last", "held", "scan", "unsent")
    return {
        **dict(zip(names, seen, strict=True)),
        "to seal": seals._WAITING,
        "rows": seals._ROWS,
        "last seal": seals._LAST,
        "done": seals._DONE,
        "sent": seals._SENT,
    }


@pytest.mark.parametrize("filled", [False, True])
async def test_a_plan_is_one_for_much(
    postgres_worlds: PostgresWorlds, tmp_path: Path, *, filled: bool
) -> None:
    async with a_world(postgres_worlds.open, tmp_path) as world:
        backend = await connect(address_of(postgres_worlds.url_of(world)))
        try:
            if filled:
                await backend.execute(FILL)
                await backend.execute("ANALYZE")
            for name, statement in (await asked()).items():
                if name == "held" and not filled:
                    continue  # a verification connects anew: its plans are made for what is there
                plan = await plan_of(backend, statement)
                assert set(wholly_read(plan)) <= ALLOWED.get(name, set()), (name, plan)
            await backend.execute("TRUNCATE seals, seal_entries, unsealed, calls")
        finally:
            await backend.close()
