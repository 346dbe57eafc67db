"""Clauses of a contract, each one call of a second, twenty at once, through `stagepost up`."""

import argparse
import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import orjson

from bench import server
from bench.program import Figures, print_figures, scratch_folder
from bench.server import HOST, Server

AT_ONCE = 20  # as in bench.apps.clauses
_CALL = 1.0  # seconds
_LONGEST = 120.0
_PROVIDER = (
    "--rpm", "0", "--tpm", "0", "--concurrency", str(AT_ONCE),
    "--first-token", str(_CALL), "--token", "0", "--sigma", "0",
)  # fmt: skip

_NO_ISSUE = {
    "answer": {"verdict": "no-issue", "findings": []}, "model": "sim-large", "times": 1_000_000,
}  # fmt: skip
"""Answered to each clause, so that none has to be asked about again."""

Submit = Callable[[httpx.Client], httpx.Response]


def mapped(clauses: int) -> Submit:
    """`ctx.map` of `ctx.llm` calls."""
    return lambda client: client.post("clauses", json={"number": clauses})


def reviewed(clauses: int) -> Submit:
    """The contract review that is built in; what stands before the first article is one, too."""
    articles = "\n\n".join(
        f"Article {n} Payment of part {n}\nThe Customer shall pay part {n} of the price within "
        f"{n} days of the delivery of part {n}, and the Supplier shall confirm it in writing."
        for n in range(1, clauses)
    )
    text = f"SERVICE CONTRACT\n\n{articles}\n"
    file = {"file": ("contract.txt", text.encode(), "text/plain")}
    return lambda client: client.post("contract-review", files=file, data={"reviewer": "model"})


def measure(name: str, clauses: int, submit: Submit) -> Figures:
    """Calls and their times are the provider's; the whole is the caller's, from submit to end."""
    with scratch_folder() as folder, _provider(folder) as (provider, models):
        path = folder / "models.toml"
        path.write_text(models, encoding="utf-8")
        settings = {"STAGEPOST_MODELS": str(path)}
        with server.stagepost(folder / "data", slots=8, settings=settings) as running:
            base = f"http://{HOST}:{running.port}/api/v1/tasks/"
            with httpx.Client(base_url=base, timeout=60) as client:
                _until_done(client, mapped(1)(client))  # so that everything is loaded
                begun = time.time() * 1e3
                whole = _until_done(client, submit(client))
        calls = _calls(provider.port, begun)
    if len(calls) != clauses:
        raise SystemExit(f"{len(calls)} calls were made for {clauses} clauses")
    ideal = math.ceil(clauses / AT_ONCE) * _CALL
    span = (max(ended for _, ended in calls) - min(at for at, _ in calls)) / 1e3
    figures = {"calls": len(calls), "ideal s": ideal, "clauses s": span, "whole task s": whole}
    return Figures(name, figures)


def _provider(folder: Path) -> AbstractContextManager[tuple[Server, str]]:
    path = folder / "script.json"
    path.write_bytes(orjson.dumps([_NO_ISSUE]))
    return server.provider(*_PROVIDER, "--script", str(path))


def _until_done(client: httpx.Client, answer: httpx.Response) -> float:
    """Seconds, from when the submit was begun until the task is completed."""
    begun = time.monotonic() - answer.elapsed.total_seconds()
    if answer.status_code != 202:
        raise SystemExit(f"a submit was answered with {answer.status_code}: {answer.text}")
    status = answer.json()
    while not status.get("final"):
        if time.monotonic() > begun + _LONGEST:
            raise SystemExit(f"no end in {_LONGEST:.0f} s: {status}")
        status = client.get(f"{status['taskId']}/status?wait=20").raise_for_status().json()
    if status["status"] != "COMPLETED":
        raise SystemExit(f"a task has ended otherwise: {status}")
    return time.monotonic() - begun


def _calls(provider: int, since: float) -> list[tuple[int, int]]:
    """When each call about a clause came and when it ended, in milliseconds."""
    told = orjson.loads(server.get(provider, "/_sim/ledger?limit=1000"))["items"]
    calls = [call for call in told if call["at"] >= since and call["model"] == "sim-large"]
    if any(call["state"] != "billed" for call in calls):
        raise SystemExit(f"not every call was billed: {calls}")
    return [(call["at"], call["ended"]) for call in calls]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("subject", choices=["map", "review"])
    parser.add_argument("--size", type=int, default=200, help="clauses")
    words = parser.parse_args()
    submit = mapped if words.subject == "map" else reviewed
    print_figures(measure(words.subject, words.size, submit(words.size)))


if __name__ == "__main__":
    main()
