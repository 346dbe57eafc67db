"""How the Python interpreter of a process that serves is set. Measured by `make bench`."""

import gc
import sys
from typing import Final

_SWITCH: Final = 0.0005  # seconds
_YOUNG: Final = (50_000, 10, 20)


def tune() -> None:
    """Set the interpreter for throughput; called once, when everything is imported.

    Threads hand over the interpreter's lock after half a millisecond rather than five: a store's
    writer comes back from its database many times a commit and must not wait so long each time.

    The garbage collector leaves alone what is there already (modules, models and routes live as
    long as the process does) and looks at the rest less often: nothing that a task leaves behind
    is a ring, so all that it finds is what handlers make. Its first generation is larger than what
    a thousand tasks on their way consist of, or each look would go through all of them. Together
    these are about a third more tasks a second.
    """
    sys.setswitchinterval(_SWITCH)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_YOUNG)
