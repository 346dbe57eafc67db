"""Doing something as a user to whom permissions apply, though the tests may run as root."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_OPEN = """
import os, sys
from pathlib import Path
from stagepost.clock import SystemClock
from stagepost.errors import StoreRefused
from stagepost.stores.sqlite import SqliteStore
if os.geteuid() == 0:
    # Only now, since this user may not even read the interpreter.
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    SqliteStore(Path(sys.argv[1]), SystemClock(), lambda news: None)
except StoreRefused as refusal:
    print(refusal)
"""


@contextmanager
def a_public_folder() -> Iterator[Path]:
    """A scratch folder that any user can reach."""
    with tempfile.TemporaryDirectory(prefix="stagepost-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def refusal_for_a_plain_user(folder: Path) -> str:
    """The sentence with which the store refuses a folder to a user without rights of root's."""
    done = subprocess.run(
        [sys.executable, "-c", _OPEN, str(folder)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
