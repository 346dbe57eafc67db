"""Run one program to its end, within a time-out, as an account."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from stagepost.devservices.errors import NotAnswering, Refused
from stagepost.devservices.service import Account

# Services see a fixed environment: what a developer's shell exports must not change them.
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C.UTF-8"}


def run(
    command: Sequence[str],
    *,
    folder: Path,
    timeout: float,
    account: Account | None = None,
    environment: Mapping[str, str] = ENVIRONMENT,
) -> str:
    """Standard output of `command`, run in `folder`.

    Raises:
        Refused: it ended with a code other than 0; the message holds its last line.
        NotAnswering: it was still running after `timeout` seconds and was killed.
    """
    try:
        done = subprocess.run(  # noqa: S603 - a list of ours, no shell
            command,
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
            umask=0o077,
        )
    except subprocess.TimeoutExpired:
        raise NotAnswering(f"{command[0]} was still running after {timeout:.0f} s.") from None
    if done.returncode != 0:
        raise Refused(f"{command[0]} failed: {last_line(done.stderr or done.stdout)}")
    return done.stdout


def last_line(text: str) -> str:
    """The last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
