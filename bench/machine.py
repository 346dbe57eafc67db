"""What a figure was measured on."""

import os
import platform
import time
from pathlib import Path
from statistics import median

_SYNCS = 200


def facts(folder: Path) -> dict[str, object]:
    """Cores, load, kernel, Python, and what it costs to sync 4 KiB in `folder`."""
    return {
        "cores": os.cpu_count(),
        "load": load(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "processor": _processor(),
        "fdatasyncMs": round(_fdatasync_ms(folder / "sync"), 3),
    }


def load() -> float:
    """How many processes have wanted a core in the last minute, the benchmark's own included."""
    return round(os.getloadavg()[0], 2)


def _fdatasync_ms(path: Path) -> float:
    """The median of 200 appends of a page, each synced."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        return 1_000 * median(_append_and_sync(handle) for _ in range(_SYNCS))
    finally:
        os.close(handle)
        path.unlink()


def _append_and_sync(handle: int) -> float:
    started = time.perf_counter()
    os.write(handle, bytes(4096))
    os.fdatasync(handle)
    return time.perf_counter() - started


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
