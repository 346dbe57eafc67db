"""`python -m bench [NAME...]`: run the benchmarks, print tables, and one JSON line at the end."""

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from bench import (
    bare_limit,
    clauses,
    dispatch,
    estimates,
    fanout,
    growth,
    limits,
    machine,
    page,
    peer_environment,
    peer_services,
    postgres,
    progress,
    quota,
    reviews,
    sleepers,
    submit,
    throughput,
    wrk,
)
from bench.program import FOLDER
from bench.report import print_table, targets_table
from bench.result import Result
from bench.runner import ROOT, ProgramFailedError
from bench.session import Session
from stagepost.devservices.errors import DevServiceError

BENCHMARKS: Mapping[str, Callable[[Session], Result]] = {
    "limit": bare_limit.run,
    "throughput": throughput.run,
    "postgres": postgres.run,
    "submit": submit.run,
    "dispatch": dispatch.run,
    "progress": progress.run,
    "growth": growth.run,
    "sleepers": sleepers.run,
    "fanout": fanout.run,
    "limits": limits.run,
    "estimates": estimates.run,
    "reviews": reviews.run,
    "clauses": clauses.run,
    "quota": quota.run,
}
NEED_PEERS = {"throughput", "postgres", "dispatch", "quota"}
WITHOUT_SERVICES = {"quota"}
"""Of those, whose peers need no database."""
NEED_SERVICES = {"postgres", "sleepers", "fanout", "limits"}


def main() -> None:
    words = _words()
    # Ended from outside it still takes back what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    names = words.names or list(BENCHMARKS)
    try:
        facts, results = _run(names, words)
    except (ProgramFailedError, DevServiceError, wrk.WrkMissingError) as error:
        sys.exit(f"bench: {error}")
    targets = [target for result in results for target in result.targets]
    print_table(targets_table(targets, judged=not words.quick))
    if words.write_docs:
        page.write(ROOT / page.PAGE, facts, results)
        page.write_shown(ROOT / page.README, results)
    print(text := json.dumps(_report(facts, results)))
    if words.json:
        words.json.write_text(text + "\n", encoding="utf-8")
    if not words.quick and not all(target.met for target in targets):
        sys.exit(1)


def _run(
    names: Sequence[str], words: argparse.Namespace
) -> tuple[Mapping[str, object], list[Result]]:
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=build, prefix="bench-")))
        environment = {FOLDER: str(folder)}
        peers = NEED_PEERS.intersection(names) if words.peers else set[str]()
        if peers:
            peer_environment.ensure()
        if peers - WITHOUT_SERVICES or NEED_SERVICES.intersection(names):
            environment |= stack.enter_context(peer_services.running())
        if "submit" in names:
            wrk.ensure()
        session = Session(folder, environment, words.pairs, words.quick, words.peers)
        facts = machine.facts(folder)
        return facts, [_one(name, session) for name in names]


def _one(name: str, session: Session) -> Result:
    print(f"{name} ...", file=sys.stderr, flush=True)
    before = machine.load()
    result = BENCHMARKS[name](session)
    for table in result.tables:
        print_table(table)
    return replace(result, load=(before, machine.load()))


def _report(facts: Mapping[str, object], results: Sequence[Result]) -> dict[str, object]:
    return {
        "machine": facts,
        "benchmarks": [
            {"name": result.name, "load": result.load, **result.figures} for result in results
        ],
        "targets": [
            {"what": t.what, "wanted": t.wanted, "measured": t.measured, "met": t.met}
            for result in results
            for t in result.targets
        ],
    }


def _words() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *BENCHMARKS])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the JSON there too")
    parser.add_argument("--pairs", type=int, help="at most so many interleaved pairs")
    parser.add_argument("--no-peers", dest="peers", action="store_false", help="leave peers out")
    parser.add_argument("--quick", action="store_true", help="tiny sizes; the figures say nothing")
    parser.add_argument(
        "--write-docs",
        action="store_true",
        help=f"put the tables into {page.PAGE} and {page.README}",
    )
    words = parser.parse_args()
    if words.pairs is not None and words.pairs < 1:
        parser.error("--pairs is at least 1")
    if words.write_docs and words.quick:
        parser.error("the figures of a quick run are not worth writing down")
    return words


if __name__ == "__main__":
    main()
