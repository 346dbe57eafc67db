"""One caller against one simulated provider for some of its minutes; judged by its own ledger.

The provider is `stagepost simulate-provider` in a process of its own, with its minute a tenth of a
real one; the caller is another process. A share is of what could have been lent from the first
whole minute after the caller's first call to the last.
"""

import argparse
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.program import Figures, print_figures, scratch_folder
from bench.quota_case import LOWERED, MINUTE, SPEED, Case, cases
from bench.runner import PEERS_PYTHON

_CALLERS = {
    "stagepost": (sys.executable, "bench.quota_stagepost"),
    "openai": (sys.executable, "bench.quota_sdk"),
    "litellm": (str(PEERS_PYTHON), "bench.peers.litellm_router"),
}
_TIMES = ("--first-token", "2", "--token", "0", "--sigma", "0.8")
_ENDING = 60.0  # seconds

Process = subprocess.Popen[str]


def measured(caller: str, case: Case, minutes: float, folder: Path) -> Figures:
    """One run."""
    with _running(_provider(case)) as provider:
        ready = json.loads(_line(provider))
        models = folder / "models.toml"
        models.write_text(ready["modelsToml"], encoding="utf-8")
        python, module = _CALLERS[caller]
        where = str(models) if caller == "stagepost" else ready["baseUrl"]
        with _running([python, "-m", module, where, case.name, str(minutes)]) as calling:
            _line(calling)
            _say(calling)
            summary = _watched(ready["ready"], case, minutes)
            _say(calling)
            ends = json.loads(_line(calling))
            calling.wait(_ENDING)
    values = {**judged(case, summary, minutes), **ends}
    values["left"] = values["begun"] - values["billed"] - values["failed"]
    [used] = summary["used"]
    notes = " ".join(f"{each['share']:.3f}" for each in used[case.binding])
    return Figures(caller, values, notes)


def judged(case: Case, summary: Mapping[str, Any], minutes: float) -> dict[str, float]:
    """What the ledger says: the share of the limit that binds, and how often it was refused."""
    [used] = summary["used"]
    shares = {what: _share(used[what], minutes) for what in ("requests", "tokens")}
    refused = {why: times for why, times in summary["refused"].items() if why.startswith("429")}
    return {
        "share": shares[case.binding],
        "requests": shares["requests"],
        "tokens": shares["tokens"],
        "429": sum(refused.values()),
        "billed": summary["billed"]["calls"],
        "paid twice": summary["billedTwice"]["byContent"]["excess"],
    }


def _share(told: Sequence[Mapping[str, float]], minutes: float) -> float:
    whole = [each for each in told if 1 <= each["minute"] < max(2, minutes)]
    return round(sum(each["lent"] for each in whole) / sum(each["limit"] for each in whole), 4)


def _watched(url: str, case: Case, minutes: float) -> Mapping[str, Any]:
    begin = time.monotonic()
    if case.lowered is not None:
        _sleep_until(begin + min(case.lowered, minutes / 2) * MINUTE)
        lower = {"requests": case.requests * LOWERED, "tokens": case.tokens * LOWERED}
        _asked(f"{url}/_sim/limits", {what: int(units) for what, units in lower.items()})
    _sleep_until(begin + minutes * MINUTE)
    found: Mapping[str, Any] = _asked(f"{url}/_sim/summary")
    return found


def _asked(url: str, body: Mapping[str, int] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        url, data, {"Content-Type": "application/json"}
    )  # this machine's own
    with urllib.request.urlopen(request, timeout=_ENDING) as answer:  # as above
        return json.load(answer)


def _provider(case: Case) -> Sequence[str]:
    lent = ("--rpm", str(case.requests), "--tpm", str(case.tokens), "--concurrency", "0")
    window = ("--window",) if case.kind == "window" else ()
    more = (*lent, *window, "--charge", case.charge, "--speed", f"{SPEED:g}", *_TIMES)
    command = (sys.executable, "-m", "stagepost", "simulate-provider", "--json")
    return (*command, "--length", "150", *more)


@contextmanager
def _running(command: Sequence[str]) -> Iterator[Process]:
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _line(process: Process) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise SystemExit(f"{process.args!r} has ended with {process.wait(_ENDING)}")
    return line


def _say(process: Process) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def _sleep_until(instant: float) -> None:
    time.sleep(max(0.0, instant - time.monotonic()))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("caller", choices=_CALLERS)
    parser.add_argument("case", choices=cases())
    parser.add_argument("--size", type=int, default=10, help="minutes of the provider")
    words = parser.parse_args()
    with scratch_folder() as folder:
        print_figures(measured(words.caller, cases()[words.case], words.size, folder))


if __name__ == "__main__":
    main()
