"""wrk, the load generator for HTTP: installed when it is missing, and run."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

CONNECTIONS = 32

_SCRIPT = Path(__file__).with_name("submit.lua")
_APT = ("apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=300", "--no-install-recommends")


class WrkMissingError(Exception):
    """wrk is not on this machine and can't be installed."""


def ensure() -> None:
    """Return with wrk on the path. Raises WrkMissingError with the remedy."""
    if shutil.which("wrk"):
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise WrkMissingError("wrk is missing: run 'apt-get install wrk' as root.")
    print("installing wrk ...", file=sys.stderr)
    # Package lists are missing or stale on a fresh machine.
    if not _apt("install", "wrk") and not (_apt("update") and _apt("install", "wrk")):
        raise WrkMissingError("wrk could not be installed: see what 'apt-get install wrk' says.")


def load(url: str, seconds: int) -> dict[str, int]:
    """What the script prints after so many seconds; every answer was a 2xx.

    Raises SystemExit when a request failed.
    """
    command = ["wrk", "--threads=1", f"--connections={CONNECTIONS}", f"--duration={seconds}s"]
    done = subprocess.run(
        [*command, "--script", str(_SCRIPT), url],
        check=True,
        capture_output=True,
        text=True,
        timeout=seconds + 60,
    )
    found: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    if found["broken"] or found["refused"] or not found["requests"]:
        raise SystemExit(f"not every request was answered with a 2xx: {found}")
    return found


def _apt(*words: str) -> bool:
    """Whether apt-get did it."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        [*_APT, *words], env=environment, stdout=sys.stderr, timeout=600, check=False
    )
    return done.returncode == 0
