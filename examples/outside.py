"""The world outside, simulated: a call to a model or a service takes a moment and leaves a line.

The lines go to `calls.log` in the working folder. So whoever kills the server in the middle can see
there which calls were made, and that none of a saved step is made again. In an app of your own,
these are your client libraries.
"""

import time
from pathlib import Path

CALLS = Path("calls.log")
SECONDS = 0.2
"""How long each call takes."""


def call(service: str, what: str) -> None:
    """Call a service; the line is written when the call begins."""
    with CALLS.open("a", encoding="utf-8") as log:
        log.write(f"{service} {' '.join(what.split())}\n")
    time.sleep(SECONDS)


def calls() -> list[str]:
    """All calls so far, in the order in which they began."""
    return CALLS.read_text(encoding="utf-8").splitlines() if CALLS.exists() else []
