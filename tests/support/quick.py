"""A scratch folder in memory, for tests that open hundreds of stores and need no real disk."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MEMORY = Path("/dev/shm")


@contextmanager
def quick_folder() -> Iterator[Path]:
    """In memory where the machine has that, else among the temporary files."""
    place = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="stagepost-test-", dir=place) as name:
        yield Path(name)
