"""`stagepost simulate-provider` as a process: what it prints, and what survives its death."""

import asyncio
import json
import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import httpx
import pytest

from cli.serving import LONGEST, STAGEPOST, environment
from stagepost.cli import run
from stagepost.llm.catalogue import Catalogue

QUICK = ("--first-token", "0", "--token", "0")


class Running(NamedTuple):
    """A simulated provider in a process of its own."""

    process: "subprocess.Popen[str]"
    ready: dict[str, str]

    @property
    def url(self) -> str:
        return self.ready["ready"]

    def stop(self, number: int = signal.SIGTERM) -> dict[str, Any]:
        """End it; what it says last."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=LONGEST)
        assert (self.process.returncode, err) == (0, "")
        found: dict[str, Any] = json.loads(out)["summary"]
        return found


@contextmanager
def simulated(*options: str) -> Iterator[Running]:
    process = subprocess.Popen(
        [STAGEPOST, "simulate-provider", "--json", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    try:
        yield Running(process, json.loads(_first_line(process)))
    finally:
        process.kill()
        process.communicate(timeout=LONGEST)


def _first_line(process: "subprocess.Popen[str]") -> str:
    out = process.stdout
    assert out is not None
    line = out.readline()
    assert line, _rest(process.stderr)
    return line


def _rest(stream: IO[str] | None) -> str:
    return "" if stream is None else stream.read()


def call(number: int) -> dict[str, Any]:
    return {"model": "sim-large", "messages": [{"role": "user", "content": f"call {number}"}]}


def test_it_says_how_to_point_at_it_and_sums_up_at_the_end() -> None:
    with simulated(*QUICK, "--rpm", "2", "--speed", "2", "--charge", "actual") as provider:
        models = Catalogue.parse(provider.ready["modelsToml"])
        [model] = models.chain("best")
        assert models.chain("fast")[0].asked_as == "sim-small"
        assert (model.limits.requests_per_minute, model.provider.minute) == (2, 30)
        assert model.charge == "actual"
        assert model.provider.base_url == provider.ready["baseUrl"]
        url = f"{model.provider.base_url}/chat/completions"
        answers = [
            httpx.post(url, json={**call(n), "model": model.asked_as}, timeout=LONGEST)
            for n in range(3)
        ]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        summary = provider.stop(signal.SIGINT)
    assert summary["received"] == 3
    assert summary["billed"]["calls"] == 2
    assert summary["refused"] == {"429 requests": 1}


def test_faults_by_chance_reset_its_connections() -> None:
    options = (*QUICK, "--fault", "reset-before=1")
    with simulated(*options) as provider:
        with pytest.raises(httpx.TransportError):
            httpx.post(f"{provider.url}/v1/chat/completions", json=call(1), timeout=LONGEST)
        summary = provider.stop()
    assert summary["faults"] == {"reset-before": 1}
    assert summary["billed"]["calls"] == 0


def test_people_are_told_in_words(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with out.open("w") as stream:
        process = subprocess.Popen(
            [STAGEPOST, "simulate-provider", *QUICK], stdout=stream, env=environment()
        )
    try:
        for _ in range(int(LONGEST / 0.05)):
            if "_sim/summary" in out.read_text():
                break
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.05)
        url = out.read_text().split()[1]
        httpx.post(f"{url}/v1/chat/completions", json=call(1), timeout=LONGEST)
        process.send_signal(signal.SIGTERM)
        assert process.wait(LONGEST) == 0
    finally:
        process.kill()
        process.wait(LONGEST)
    text = out.read_text()
    assert f"export OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY=any" in text
    assert "billed        1 calls" in text
    assert re.search(r"^sim-large +0 +1 +\d+%", text, re.MULTILINE)


async def _ask(client: httpx.AsyncClient, number: int, answered: set[int]) -> None:
    answer = await client.post(
        "/v1/chat/completions",
        json=call(number),
        headers={"x-stagepost-call": f"call-{number}"},
    )
    if answer.status_code == 200:
        answered.add(number)


async def _ask_until_killed(running: Running, after: int) -> set[int]:
    """Eight callers at once; the process is killed once so many answers have come."""
    answered = set[int]()
    numbers = iter(range(10_000))

    async def caller() -> None:
        for number in numbers:
            try:
                await _ask(client, number, answered)
            except httpx.TransportError:
                return
            if len(answered) >= after:
                os.kill(running.process.pid, signal.SIGKILL)

    async with httpx.AsyncClient(base_url=running.url, timeout=LONGEST) as client:
        await asyncio.gather(*(caller() for _ in range(8)))
    return answered


@pytest.mark.parametrize("after", [1, 40])
async def test_the_ledger_tells_the_truth_after_a_kill(tmp_path: Path, after: int) -> None:
    file = tmp_path / "ledger.jsonl"
    options = (*QUICK, "--rpm", "0", "--tpm", "0", "--ledger", str(file))
    with simulated(*options) as provider:
        answered = await _ask_until_killed(provider, after)
    assert len(answered) >= after
    with simulated(*options) as again:
        async with httpx.AsyncClient(base_url=again.url, timeout=LONGEST) as client:
            before = (await client.get("/_sim/summary")).json()
            page = (await client.get("/_sim/ledger?limit=10000")).json()
            unanswered = set(range(len(answered) + 8)) - answered
            for number in unanswered:
                await _ask(client, number, set())
        billed = Counter(item["key"] for item in page["items"] if item["state"] == "billed")
        assert {f"call-{number}" for number in answered} <= set(billed), "no answer is forgotten"
        assert before["received"] == before["billed"]["calls"] + before["lost"]
        # At most those that were on their way are billed without an answer.
        assert before["billed"]["calls"] <= len(answered) + 8
        summary = again.stop()
    paid_before = {f"call-{number}" for number in unanswered} & set(billed)
    assert summary["billedTwice"]["byKey"]["excess"] == len(paid_before)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--fault", "often"], "NAME=RATE"),
        (["--fault", "429=0.7", "--fault", "500=0.7"], "more than 1"),
        (["--charge", "half"], "--charge"),
        (["--retry-after", "soon"], "--retry-after"),
        (["--speed", "0"], "speed"),
        (["--sigma", "nan"], "sigma"),
        (["--script", "none.json"], "can't be read"),
        (["--length", "0"], "length"),
        (["--model", 'a"b'], "no name of a model"),
    ],
)
def test_a_wrong_option_is_one_sentence(
    options: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate-provider", *options]) == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [("{", "no valid JSON"), ("{}", "list"), ('[{"fault": "x"}]', 'no fault "x"')],
)
def test_a_wrong_script_is_one_sentence(
    text: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "script.json").write_text(text)
    assert run(["simulate-provider", "--script", str(tmp_path / "script.json")]) == 2
    assert says in capsys.readouterr().err


def test_a_port_or_a_ledger_that_is_not_to_be_had_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with simulated() as provider:
        port = provider.url.rpartition(":")[2]
        assert run(["simulate-provider", "--port", port]) == 4
        assert f"Port {port}" in capsys.readouterr().err
    (tmp_path / "ledger").write_text("nonsense\n")
    assert run(["simulate-provider", "--ledger", str(tmp_path / "ledger")]) == 4
    assert "line 1" in capsys.readouterr().err
