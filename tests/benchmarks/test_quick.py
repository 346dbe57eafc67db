"""Each benchmark at a tiny size, without peers: it runs, and what it prints is sane."""

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from bench.__main__ import BENCHMARKS
from bench.runner import ROOT

TARGETS = {
    "limit": 1,
    "throughput": 1,
    "postgres": 1,
    "submit": 2,
    "dispatch": 4,
    "progress": 2,
    "growth": 1,
    "sleepers": 4,
    "fanout": 2,
    "limits": 4,
    "estimates": 3,
    "reviews": 6,
    "clauses": 2,
    "quota": 4,
}


def _run(*words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "bench", *words]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=110, check=False
    )


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_quick_run_prints_sane_json(name: str) -> None:
    done = _run(name, "--quick", "--no-peers")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    (benchmark,) = report["benchmarks"]
    assert benchmark["name"] == name
    assert len(report["targets"]) == TARGETS[name]
    assert all(target["measured"] for target in report["targets"])
    figures = list(_numbers(benchmark))
    assert figures
    assert all(math.isfinite(figure) for figure in figures)
    assert report["machine"]["cores"] >= 1


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, int | float):
        yield float(value)


def test_docs_take_no_quick_figures() -> None:
    done = _run("--quick", "--write-docs")
    assert done.returncode == 2
    assert "quick" in done.stderr
