"""Run a measured program as a process of its own."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from bench.programs import Program

Answer = TypeVar("Answer")

ROOT = Path(__file__).resolve().parent.parent
PEERS_PYTHON = ROOT / ".venv-bench" / "bin" / "python"
_TIMEOUT = 300.0


class ProgramFailedError(Exception):
    """A program ended without a measurement."""


def run(
    program: Program,
    read: Callable[[str], Answer],
    *,
    size: int,
    words: Sequence[str] = (),
    environment: Mapping[str, str],
) -> Answer:
    """One run, with the processes that it starts ended by its end.

    `read` makes of the program's last line what it measured, or raises ValueError.

    Raises:
        ProgramFailedError: it failed or took over 5 minutes.
    """
    python = sys.executable if program.environment == "project" else str(PEERS_PYTHON)
    given = (*program.words, *words, "--size", str(size))
    process = subprocess.Popen(
        [python, "-m", program.module, *given],
        cwd=ROOT,
        env={**_without_settings(os.environ), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    cut = threading.Timer(_TIMEOUT, _end_group, [process.pid])
    cut.start()
    try:
        out, err = process.communicate()
    finally:
        cut.cancel()
        _end_group(process.pid)
    try:
        if process.returncode:
            raise ValueError(process.returncode)
        return read(out.strip().splitlines()[-1])
    except (IndexError, ValueError):
        raise ProgramFailedError(
            f"{program.name} measured nothing (code {process.returncode}): {err.strip()[-2000:]}"
        ) from None


def _without_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """A shell's own settings of the project would change what is measured."""
    return {name: text for name, text in environment.items() if not name.startswith("STAGEPOST_")}


def _end_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return
