"""The judge: what it counts, what it forgets, and what it still knows after a kill."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulated.asking import CHAT, asking, chat_body
from stagepost.clock import SystemClock
from stagepost.simulated import SimulatedProvider, Step, serve
from stagepost.simulated.asked import Asked
from stagepost.simulated.journal import Journal, LedgerUnreadable, replay
from stagepost.simulated.judge import Judge
from stagepost.simulated.ledger import Tally


async def test_what_is_billed_is_what_was_told() -> None:
    async with asking(price=(1.0, 2.0)) as sim:
        usage = [(await sim.chat(str(n))).json()["usage"] for n in range(3)]
        totals = (await sim.summary())["billed"]
    prompt = sum(each["prompt_tokens"] for each in usage)
    completion = sum(each["completion_tokens"] for each in usage)
    assert totals == {
        "calls": 3,
        "inputTokens": prompt,
        "outputTokens": completion,
        "dollars": pytest.approx((prompt + 2 * completion) / 1_000_000),
    }


async def test_a_key_that_is_billed_twice_is_told_and_content_apart() -> None:
    async with asking(script=[Step(fault="500", skip=2)]) as sim:
        for key, text in [("k1", "a"), ("k1", "b"), ("k2", "failed"), ("k2", "failed"), ("", "a")]:
            headers = {"x-stagepost-call": key} if key else {}
            await sim.client.post(CHAT, json=chat_body(text), headers=headers)
        await sim.chat("c", metadata={"call": "k3"})
        await sim.chat("d", metadata={"call": "k3"}, stream=True)
        repeated = (await sim.client.get("/_sim/repeated")).json()
        twice = (await sim.summary())["billedTwice"]
    # k2 was refused once and billed once, which is no second bill.
    assert repeated["byKey"] == {"k1": 2, "k3": 2}
    assert list(repeated["byContent"].values()) == [2]
    assert twice == {
        "byKey": {"keys": 2, "excess": 2, "forgotten": 0},
        "byContent": {"keys": 1, "excess": 1, "forgotten": 0},
    }


async def test_content_is_the_same_whatever_its_order_and_whether_it_streams() -> None:
    body = chat_body("a", temperature=0)
    turned = dict(reversed(body.items()))
    async with asking() as sim:
        for each in (body, turned, {**body, "stream": True}, {**body, "temperature": 1}):
            await sim.client.post(CHAT, json=each)
        assert sim.provider.ledger.by_content.excess == 2


async def test_calls_are_listed_page_by_page() -> None:
    async with asking() as sim:
        for n in range(5):
            await sim.chat(str(n))
        first = (await sim.client.get("/_sim/ledger?limit=3")).json()
        rest = (await sim.client.get(f"/_sim/ledger?limit=3&after={first['next']}")).json()
        wrong = await sim.client.get("/_sim/ledger?limit=-1")
    calls = [item["call"] for item in first["items"] + rest["items"]]
    assert calls == [1, 2, 3, 4, 5]
    assert rest["next"] is None
    assert {item["state"] for item in first["items"]} == {"billed"}
    assert wrong.status_code == 400


@given(st.lists(st.sampled_from("abcdef"), max_size=60))
def test_a_tally_counts_what_comes_again(keys: list[str]) -> None:
    tally = Tally()
    for key in keys:
        tally.add(key)
    often = {key: keys.count(key) for key in keys if keys.count(key) > 1}
    assert tally.often(100) == often
    assert (tally.repeated, tally.excess) == (len(often), len(keys) - len(set(keys)))


def test_a_tally_forgets_the_oldest_and_says_so() -> None:
    tally = Tally(most=2)
    for key in "abca":
        tally.add(key)
    assert (tally.forgotten, tally.excess) == (2, 0)


async def run(file: Path, **more: Any) -> Any:
    """Some calls of every kind, and what the ledger then has."""
    steps = [Step(fault=name) for name in ("429", "reset-after", "cut", "reset-before")]
    async with serve(SimulatedProvider(ledger=file, script=steps)) as sim:
        for _ in range(more.get("calls", 6)):
            await asyncio.gather(_quiet(sim.url), return_exceptions=True)
        return sim.ledger.totals()


async def _quiet(url: str) -> None:
    async with httpx.AsyncClient() as client:
        await client.post(url + CHAT, json=chat_body(), headers={"x-stagepost-call": "k"})


async def test_the_next_run_goes_on_with_the_file(tmp_path: Path) -> None:
    file = tmp_path / "ledger.jsonl"
    before = await run(file)
    assert before["billed"]["calls"] == 4
    assert before["billedTwice"]["byKey"] == {"keys": 1, "excess": 3, "forgotten": 0}
    async with serve(SimulatedProvider(ledger=file)) as sim:
        after = sim.ledger.totals()
        assert {**after, "concurrency": before["concurrency"]} == before
        await _quiet(sim.url)
        assert sim.ledger.calls(6, 9)[0].call == 7
        assert sim.ledger.by_key.excess == 4


async def test_a_call_that_the_file_does_not_end_is_lost(tmp_path: Path) -> None:
    file = tmp_path / "ledger.jsonl"
    judge = Judge(SystemClock(), (1, 1), file)
    judge.open()
    await judge.receive(Asked(path=CHAT, model="a", text="", digest="d"))
    await judge.close()
    later = Judge(SystemClock(), (1, 1), file)
    later.open()
    assert (later.ledger.lost, later.ledger.open, later.ledger.received) == (1, 0, 1)
    await later.close()


async def test_a_torn_last_line_is_cut_off_and_any_other_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "ledger.jsonl"
    await run(file, calls=1)
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"event":"billed","ca')
    async with serve(SimulatedProvider(ledger=file)) as sim:
        assert sim.ledger.received == 1
        await _quiet(sim.url)
    assert file.read_bytes().startswith(whole + b'{"event":"received"')
    file.write_bytes(b"nonsense\n" + whole)
    with pytest.raises(LedgerUnreadable, match="line 1"):
        async with serve(SimulatedProvider(ledger=file)):
            pass
    with pytest.raises(LedgerUnreadable, match="can't be"):
        async with serve(SimulatedProvider(ledger=tmp_path / "none" / "ledger.jsonl")):
            pass


async def test_lines_of_many_calls_come_whole_and_in_order(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "lines")
    journal.open()

    async def add(number: int) -> None:
        journal.add("line", call=number)
        await journal.synced()
        assert f'"call":{number}}}\n' in (tmp_path / "lines").read_text()

    await asyncio.gather(*(add(number) for number in range(200)))
    await journal.close()
    found: list[int] = []
    replay(tmp_path / "lines", lambda line: found.append(line["call"]))
    assert found == list(range(200))


async def test_a_disk_that_refuses_is_told_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path / "lines")
    journal.open()
    journal.add("line", call=1)
    with monkeypatch.context() as patched:

        def full(_descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        patched.setattr("os.fsync", full)
        with pytest.raises(OSError, match="No space"):
            await journal.synced()
    journal.add("line", call=2)
    await journal.close()
    lines = [json.loads(line)["call"] for line in (tmp_path / "lines").read_text().splitlines()]
    assert lines == [1, 2]
