"""No life without the parent: a process that must not outlive the one that started it."""

import ctypes
import os
import signal
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1  # from linux/prctl.h


def die_with(parent: int) -> None:
    """Be killed by the kernel as soon as the process `parent`, which started this one, ends.

    The signal comes when the thread that forked this process ends. Where the kernel has no such
    call, the end of the pipe between the two must tell.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # If it had ended before the call, nobody would send the signal.
    if os.getppid() != parent:
        os._exit(1)
