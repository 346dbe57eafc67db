"""`make demo`: starts a server, reviews a contract with live progress, shows what was found.

Everything it starts it stops, and everything but the report it removes.
"""

import argparse
import asyncio
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from printed_report import report_lines
from stagepost.cli.exits import Exit, complain
from stagepost.cli.saving import save_all
from stagepost.cli.watch import followed
from stagepost.errors import StagepostError
from stagepost.remote import FilePart, Remote

REPORTS = Path(__file__).resolve().parent.parent / "build" / "demo"
TYPE = "contract-review"
START = 60.0  # seconds for the server to answer
STOP = 60.0  # seconds for it to end
LOOK_AROUND = 60.0  # seconds that the server stays for a person at a terminal
HALF_WAY = 50  # percent
PAGES = {"/": "start page", "/dashboard": "dashboard", "/docs": "API"}


class Stopped(Exception):  # it is no error
    """The demo can't go on; the sentence says why."""


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, help="a contract of your own")
    parser.add_argument("--app", default="", help="task types of your own, as MODULE:APP")
    parser.add_argument("--models", type=Path, help="a models.toml: a model reads the clauses")
    parser.add_argument("--kill", action="store_true", help="kill the server in the middle")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, _terminated)
    try:
        with _scratch() as scratch:
            file = _contract(given.file, scratch)
            with _server(scratch, given.app, given.models) as server:
                return asyncio.run(_review(server, file, kill=given.kill))
    except (Stopped, StagepostError) as error:
        complain(str(error))
        return Exit.ENDED_OTHERWISE
    except KeyboardInterrupt:
        complain("Stopped; nothing is left running.")
        return Exit.INTERRUPTED


def _terminated(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="stagepost-demo-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _contract(named: Path | None, scratch: Path) -> Path:
    if named is None:
        from sample_contract import write_sample  # noqa: PLC0415  # only where it is needed

        sample = scratch / "sample-contract.pdf"
        write_sample(sample)
        return sample
    if not named.is_file():
        kind = "is a folder" if named.is_dir() else "does not exist"
        raise Stopped(f"FILE={named} {kind}; name a contract as PDF, DOCX or text.")
    if not os.access(named, os.R_OK):
        raise Stopped(f"FILE={named} can't be read; give this user the right to.")
    return named


class Server(NamedTuple):
    """Where the server answers, and the process id of its supervisor."""

    url: str
    supervisor: int


@contextlib.contextmanager
def _server(scratch: Path, app: str, models: Path | None) -> Iterator[Server]:
    """A server on a free port."""
    words = ["up", "--port", "0", "--data", str(scratch / "data")]
    command = [sys.executable, "-P", "-m", "stagepost", *words, *(["--app", app] if app else [])]
    environment = _environment(models)
    with contextlib.ExitStack() as undo:
        # A signal inside Popen would leave a server that nobody knows of.
        with _later(signal.SIGINT, signal.SIGTERM):
            with (scratch / "out").open("wb") as out, (scratch / "log").open("wb") as log:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=out, stderr=log, env=environment
                )
            undo.callback(_end, process)
        yield Server(_ready(process, scratch), process.pid)


@contextlib.contextmanager
def _later(*numbers: signal.Signals) -> Iterator[None]:
    """Signals that arrive in the block interrupt at its end, when it has ended well."""
    arrived: list[int] = []
    before = {
        each: signal.signal(each, lambda number, _: arrived.append(number)) for each in numbers
    }
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    if arrived:
        raise KeyboardInterrupt


def _environment(models: Path | None) -> dict[str, str]:
    # The demo must not end up in somebody's real store, nor spend somebody's money unasked.
    kept = {name: value for name, value in os.environ.items() if "STAGEPOST_" not in name}
    return kept if models is None else {**kept, "STAGEPOST_MODELS": str(models.resolve())}


def _ready(process: "subprocess.Popen[bytes]", scratch: Path) -> str:
    limit = time.monotonic() + START
    while time.monotonic() < limit and process.poll() is None:
        for line in (scratch / "out").read_text().splitlines():
            if line.startswith("ready "):
                return line.split()[1]
        time.sleep(0.05)
    last = (scratch / "log").read_text(errors="replace").strip().splitlines()
    raise Stopped(f"The server did not start: {last[-1] if last else 'it said nothing'}")


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(STOP)


async def _review(server: Server, file: Path, *, kill: bool) -> int:
    url = server.url
    async with Remote(url) as remote:
        accepted = await remote.submit(TYPE, None, [FilePart("file", file)])
        task_id = accepted["taskId"]
        print(f"server {url}\nreviewing {file.name} as task {task_id}")
        async with asyncio.TaskGroup() as group:
            killing = group.create_task(_kill_midway(server, task_id)) if kill else None
            status, _ = await followed(remote, task_id, quiet=False)
        if killing is not None:
            await _print_recovery(server, task_id, killing.result())
        if status["status"] != "COMPLETED":
            reason = status["errorMessage"] or status["status"].lower()
            raise Stopped(f"{file.name} was not reviewed: {reason}")
        artifacts = [each async for each in remote.artifacts(task_id)]
        saved = await save_all(remote, await remote.task(task_id), artifacts, REPORTS)
    _print_report(saved)
    _print_calls(url, task_id)
    _print_pages(url, task_id)
    return Exit.COMPLETED


async def _kill_midway(server: Server, task_id: str) -> tuple[int, int] | None:
    """Kill the serving process half-way; its id and the progress. None if the task was quicker."""
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=10) as client:
        limit = time.monotonic() + START
        while time.monotonic() < limit:
            status = (await client.get(f"/api/v1/tasks/{task_id}/status")).json()
            if status["final"]:
                return None
            if status["progress"] >= HALF_WAY:
                serving = _child_of(server.supervisor)
                os.kill(serving, signal.SIGKILL)
                return serving, status["progress"]
            await asyncio.sleep(0.002)
    return None


def _child_of(supervisor: int) -> int:
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
    return int(children[0])


async def _print_recovery(server: Server, task_id: str, killed: tuple[int, int] | None) -> None:
    if killed is None:
        print("the review was done before it could be killed; try a longer contract")
        return
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=10) as client:
        steps: list[dict[str, Any]] = []
        after = ""
        while after is not None:
            query = f"?limit=200{after and f'&after={after}'}"
            page = (await client.get(f"/api/v1/tasks/{task_id}/steps{query}")).json()
            steps += page["items"]
            after = page["next"]
    before = sum(step["fence"] == 1 for step in steps)
    print(
        f"\nprocess {killed[0]} was killed (SIGKILL) at {killed[1]} % and replaced by "
        f"{_child_of(server.supervisor)}:\n{before} steps had been saved and were not run again, "
        f"{len(steps) - before} ran after the kill"
    )


def _print_report(saved: Sequence[Path]) -> None:
    files = {path.name: path for path in saved}
    report = json.loads(files.get("report.json", files["result.json"]).read_text("utf-8"))
    print("", *report_lines(report), "", sep="\n")
    for name in ("report.html", "report.json"):
        if name in files:
            print(f"{name:<12} {files[name]}")


def _print_calls(url: str, task_id: str) -> None:
    """What the ledger has of the task's calls to models; nothing where there was none."""
    states: Counter[str] = Counter()
    with httpx.Client(base_url=url, trust_env=False, timeout=10) as client:
        page: dict[str, Any] = {"next": ""}
        while page["next"] is not None:
            after = {"after": page["next"]} if page["next"] else {}
            answer = client.get(f"/api/v1/tasks/{task_id}/calls", params={"limit": 200, **after})
            page = answer.raise_for_status().json()
            states.update(call["state"] for call in page["items"])
    if states:
        told = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
        print(f"calls of models in the ledger: {told}")


def _print_pages(url: str, task_id: str) -> None:
    pages = {**PAGES, f"/api/v1/tasks/{task_id}": "the task"}
    with httpx.Client(base_url=url, trust_env=False, timeout=10) as client:
        answered = [path for path in pages if client.get(path).is_success]
    if sys.stdin.isatty() and sys.stdout.isatty():
        print("\nwhile the server runs:")
        for path in answered:
            print(f"  {url}{path}  ({pages[path]})")
        print(f"Look around; Enter stops the server, or {LOOK_AROUND:.0f} seconds.")
        select.select([sys.stdin], [], [], LOOK_AROUND)
    else:
        names = ", ".join(path for path in answered if path in PAGES)
        print(
            "The demo's server and its task are gone, the report is left. To look around on a "
            "server of your own:\n"
            "  . .venv/bin/activate && stagepost up\n"
            f"then open http://127.0.0.1:8080 with {names}"
        )


if __name__ == "__main__":
    sys.exit(main())
