"""Four processes on one limit, by the machine's own clock."""

import asyncio
import json
import sys
import time
from pathlib import Path

import pytest

from support.postgres import Server
from support.world import new_id

HAMMER = Path(__file__).with_name("hammer.py")
Grants = list[tuple[float, float]]


async def hammered(server: Server, rule: str, seconds: float) -> list[Grants]:
    url = server.url_of(f"hammered_{new_id()[-12:]}")
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, HAMMER, url, rule, str(seconds),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )
        for _ in range(4)
    ]  # fmt: skip
    for process in processes:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
    begin = f"{time.monotonic() + 0.2}\n".encode()
    told = await asyncio.gather(*(process.communicate(begin) for process in processes))
    return [json.loads(out) for out, _ in told]


async def test_together_they_never_pass_the_rate(postgres_server: Server) -> None:
    per_process = await hammered(postgres_server, "100/500ms", 3.0)
    grants = sorted(grant for grants in per_process for grant in grants)
    assert len(grants) >= 100, "they hardly got anything"
    for first, (asked, _) in enumerate(grants):
        # All that were surely granted within half a second from then on.
        within = [answered for _, answered in grants[first:] if answered < asked + 0.5]
        assert len(within) <= 100


async def test_together_they_never_hold_more_than_the_number(postgres_server: Server) -> None:
    per_process = await hammered(postgres_server, "3", 2.0)
    ends = [(at, 1) for grants in per_process for at, _ in grants]
    ends += [(at, -1) for grants in per_process for _, at in grants]
    held = most = 0
    for _, change in sorted(ends, key=lambda end: (end[0], end[1])):
        held += change
        most = max(most, held)
    assert most == 3
    assert all(grants for grants in per_process), "one of them got nothing"


@pytest.fixture(autouse=True)
def quiet(recwarn: pytest.WarningsRecorder) -> None:
    """Warnings of the processes are on their own stderr."""
