"""The peers' own environment, so that their pins never meet the project's."""

import hashlib
import subprocess
import sys
from pathlib import Path

from bench.runner import PEERS_PYTHON, ROOT

_REQUIREMENTS = ROOT / "requirements" / "bench.txt"


def ensure() -> None:
    """Make it, or make it anew when the pins have changed (about half a minute)."""
    folder = PEERS_PYTHON.parent.parent
    stamp = folder / "installed"
    wanted = hashlib.sha256(_REQUIREMENTS.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text(encoding="ascii") == wanted:
        return
    print("installing the peers into .venv-bench ...", file=sys.stderr)
    _run([sys.executable, "-m", "venv", "--clear", str(folder)])
    pip = [str(PEERS_PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "--require-hashes", "--requirement", str(_REQUIREMENTS)])
    stamp.write_text(wanted, encoding="ascii")


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, cwd=Path("/"), timeout=900)
