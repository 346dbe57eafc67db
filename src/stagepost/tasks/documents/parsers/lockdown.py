"""What the child gives up before it reads a byte that it does not trust.

The resource limits hold on every POSIX system; the rest is asked of the Linux kernel, and what it
refused is told, never assumed: `Lockdown` is the ground truth behind `stagepost doctor`.
"""

import ctypes
import os
import resource
import signal
import sys
from contextlib import nullcontext, suppress
from dataclasses import dataclass

# prctl(2), unshare(2), capset(2): the numbers of the kernel's interface, the same on every machine.
PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVS = 38
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
CAPABILITY_VERSION_3 = 0x20080522


@dataclass(frozen=True, slots=True)
class Lockdown:
    """Which of the walls stand around this process."""

    memory_limit: bool
    cpu_limit: bool
    parent_death_signal: bool
    no_new_privileges: bool
    network_namespace: bool


def limit_resources(*, memory: int, cpu_seconds: int, open_files: int, output_bytes: int) -> None:
    """Bounds this process for good: soft and hard limits are the same, so none can be raised.

    Past `cpu_seconds` the kernel sends SIGXCPU; past `output_bytes` a write fails; an allocation
    past `memory` fails. Raises OSError or ValueError where the system refuses.
    """
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    with nullcontext() if sys.platform == "linux" else suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))  # macOS knows it, but refuses it
    for kind, most in (
        (resource.RLIMIT_NOFILE, open_files),
        (resource.RLIMIT_FSIZE, output_bytes),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))


def isolate(parent: int) -> Lockdown:
    """Ties this process to its parent and takes network and privileges away where the kernel can.

    Call it once, single-threaded (a user namespace needs that), after the imports and before the
    first byte of the document. Exits at once if `parent` is gone already.
    """
    kernel = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
    mortal = kernel is not None and kernel.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) == 0
    if os.getppid() != parent:  # it died before the signal was set
        os._exit(1)
    humble = kernel is not None and kernel.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    alone = kernel is not None and kernel.unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0
    if kernel is not None:
        _drop_capabilities(kernel)
    return Lockdown(
        memory_limit=_is_limited(resource.RLIMIT_AS),
        cpu_limit=_is_limited(resource.RLIMIT_CPU),
        parent_death_signal=mortal,
        no_new_privileges=humble,
        network_namespace=alone,
    )


def _is_limited(kind: int) -> bool:
    return resource.getrlimit(kind)[0] != resource.RLIM_INFINITY


def _drop_capabilities(kernel: ctypes.CDLL) -> None:
    """Gives up every capability: a fresh user namespace hands out a full set of its own."""
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    if kernel.capset(header, nothing) != 0:
        raise OSError(ctypes.get_errno(), "the capabilities could not be dropped")
