"""`make demo`, without make: what a newcomer sees, and that nothing is left behind."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.serving import APPS, LONGEST, Ran
from cli.test_simulate import QUICK, simulated

DEMO = Path(__file__).parents[2] / "scripts" / "demo.py"


def demo(home: Path, *words: str) -> Ran:
    done = subprocess.run(
        [sys.executable, str(DEMO), *words],
        cwd=APPS,
        env={
            "HOME": str(home),
            "TMPDIR": str(home),
            "STAGEPOST_URL": "http://127.0.0.1:9",
            # Where the sources are that are tested, if not where they are installed.
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONGEST * 4,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def serving() -> list[str]:
    lines = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = process.read_bytes().decode().split("\0")
        except OSError:
            continue
        lines += [" ".join(words)] if any("stagepost-demo-" in word for word in words) else []
    return lines


def test_a_contract_is_reviewed_and_everything_is_stopped(tmp_path: Path) -> None:
    contract = tmp_path / "contract.txt"
    contract.write_text("1. Liability\nThe Supplier is liable without any limit. " * 20)
    ran = demo(tmp_path, str(contract))
    assert ran.code == 0, ran.out + ran.err
    assert "100% completed" in ran.out
    assert "overall risk" in ran.out
    assert "HIGH" in ran.out
    [report] = [line.split()[1] for line in ran.out.splitlines() if line.startswith("report.html")]
    assert "<html" in Path(report).read_text()
    assert "server and its task are gone" in ran.out
    assert ". .venv/bin/activate && stagepost up" in ran.out
    assert serving() == []
    assert not list(tmp_path.glob("stagepost-demo-*"))


MODELS = """\
[providers.main]
kind = "openai"
base_url = "{url}"
[models.best]
chain = ["main/sim-large"]
"""


def test_a_model_reads_the_clauses_and_its_calls_are_counted(tmp_path: Path) -> None:
    contract = tmp_path / "contract.txt"
    contract.write_text("1. Liability\nThe Supplier is liable without any limit. " * 20)
    models = tmp_path / "models.toml"
    script = tmp_path / "script.json"
    answer = {"verdict": "no-issue", "findings": []}
    script.write_text(json.dumps([{"answer": answer, "times": 1_000}]))
    with simulated(*QUICK, "--script", str(script)) as provider:
        models.write_text(MODELS.format(url=provider.ready["baseUrl"]))
        ran = demo(tmp_path, str(contract), "--models", str(models))
        billed = provider.stop()["billed"]["calls"]
    assert ran.code == 0, ran.out + ran.err
    assert "language model main/sim-large; rules" in ran.out
    [told] = [line for line in ran.out.splitlines() if line.startswith("calls of models")]
    assert sum(map(int, re.findall(r"\d+", told))) == billed > 0
    assert serving() == []


def test_the_sample_is_reviewed_though_the_server_is_killed_in_the_middle(tmp_path: Path) -> None:
    ran = demo(tmp_path, "--kill")
    assert ran.code == 0, ran.out + ran.err
    assert "reviewing sample-contract.pdf" in ran.out
    found = re.search(
        r"process (\d+) was killed \(SIGKILL\) at (\d+) % and replaced by (\d+):\n"
        r"(\d+) steps had been saved and were not run again, (\d+) ran after the kill",
        ran.out,
    )
    assert found is not None, ran.out
    killed, percent, successor, before, after = map(int, found.groups())
    assert killed != successor
    assert 50 <= percent < 100
    assert min(before, after) > 0
    assert serving() == []


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    ran = demo(tmp_path, "missing.pdf")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "stagepost: FILE=missing.pdf does not exist; name a contract as PDF, DOCX or text.\n"
    )


def test_a_refused_file_shows_what_the_server_says(tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.touch()
    ran = demo(tmp_path, str(empty))
    assert ran.code == 1
    assert ran.err.startswith("stagepost: empty.txt was not reviewed: ")
    assert ran.err.count("\n") == 1
    assert serving() == []


def test_a_server_that_does_not_start_is_one_sentence(tmp_path: Path) -> None:
    contract = tmp_path / "contract.txt"
    contract.write_text("words")
    done = subprocess.run(
        [sys.executable, str(DEMO), str(contract), "--app", "missing:app"],
        capture_output=True,
        text=True,
        timeout=LONGEST * 4,
        check=False,
        cwd=APPS,
    )
    assert done.returncode == 1
    assert "The server did not start: stagepost: --app" in done.stderr


def born(demo: int) -> bool:
    """Whether the demo has forked its server, which need not run yet."""
    return bool(Path(f"/proc/{demo}/task/{demo}/children").read_text())


@pytest.mark.parametrize("signal_name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("moment", ["the server is forked", "the server runs"])
def test_ctrl_c_stops_everything(tmp_path: Path, signal_name: str, moment: str) -> None:
    contract = tmp_path / "contract.txt"
    contract.write_text("words")
    process = subprocess.Popen(
        [sys.executable, str(DEMO), str(contract)],
        cwd=APPS,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"HOME": str(tmp_path), "TMPDIR": str(tmp_path)},
    )
    end = time.monotonic() + LONGEST
    while not (born(process.pid) if moment == "the server is forked" else serving()):
        assert time.monotonic() < end
        assert process.poll() is None
    process.send_signal(getattr(signal, signal_name))
    _, err = process.communicate(timeout=LONGEST)
    assert (process.returncode, err) == (130, "stagepost: Stopped; nothing is left running.\n")
    assert serving() == []
    assert not list(tmp_path.glob("stagepost-demo-*"))
