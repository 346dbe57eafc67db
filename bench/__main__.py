"""`python -m bench [NAME...]`: run the benchmarks, print tables, and one JSON line at the end."""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from bench import bare_limit, machine, peer_environment, peer_services, throughput
from bench.program import FOLDER
from bench.runner import ROOT, ProgramFailedError
from bench.session import Session
from stagepost.devservices.errors import DevServiceError

BENCHMARKS: Mapping[str, Callable[[Session], dict[str, object]]] = {
    "limit": bare_limit.run,
    "throughput": throughput.run,
}
NEED_PEERS = {"throughput"}


def main() -> None:
    words = _words()
    names = words.names or list(BENCHMARKS)
    try:
        report = _run(names, words.pairs, words.tasks)
    except (ProgramFailedError, DevServiceError) as error:
        sys.exit(f"bench: {error}")
    text = json.dumps(report)
    print(text)
    if words.json:
        words.json.write_text(text + "\n", encoding="utf-8")


def _run(names: list[str], pairs: int, tasks: int | None) -> dict[str, object]:
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(dir=build, prefix="bench-"))
        environment = {FOLDER: folder}
        if NEED_PEERS.intersection(names):
            peer_environment.ensure()
            environment |= stack.enter_context(peer_services.running())
        session = Session(pairs=pairs, tasks=tasks, environment=environment)
        facts = machine.facts(Path(folder))
        return {"machine": facts, "benchmarks": [BENCHMARKS[name](session) for name in names]}


def _words() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench")
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *BENCHMARKS])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the JSON there too")
    parser.add_argument("--pairs", type=int, default=5, help="interleaved pairs (5)")
    parser.add_argument("--tasks", type=int, help="tasks a run, in place of each program's own")
    return parser.parse_args()


main()
