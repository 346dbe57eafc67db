"""Run a measured program as a process of its own."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from bench.program import Measured
from bench.programs import Program

ROOT = Path(__file__).resolve().parent.parent
PEERS_PYTHON = ROOT / ".venv-bench" / "bin" / "python"
_TIMEOUT = 300.0


class ProgramFailedError(Exception):
    """A program ended without a measurement."""


def run(program: Program, *, tasks: int | None, environment: Mapping[str, str]) -> Measured:
    """One run, with the processes that it starts ended by its end.

    Raises:
        ProgramFailedError: it failed or took over 5 minutes.
    """
    python = sys.executable if program.environment == "project" else str(PEERS_PYTHON)
    command = [python, "-m", program.module, "--tasks", str(tasks or program.tasks)]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
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
        return Measured.from_line(out.strip().splitlines()[-1])
    except (IndexError, ValueError):
        raise ProgramFailedError(
            f"{program.name} measured nothing (code {process.returncode}): {err.strip()[-2000:]}"
        ) from None


def _end_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return
